//! Pods are let in.
