//! Modules that mean harm or were made by mistake: each is refused or fails in clear words, and harms nobody else.

mod api_server;
mod attempt;
mod beside;
mod calls;
mod contained;
mod load;
mod members;
mod passes;
mod registries;
mod sealing;
mod sources;
mod world;
