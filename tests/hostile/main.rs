//! Modules that mean harm or were made by mistake: each is refused or fails in clear words, and harms nobody else.

mod calls;
mod load;
mod wat;
