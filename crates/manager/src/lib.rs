//! What a program is made of, and how it is run.
