//! Policies of a program, in process and on its webhook.

#![cfg(test)]

mod declarations;
mod types;
mod webhook;
