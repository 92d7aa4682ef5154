//! What holds of the repository as a whole: its arrows, its files, its generated and written words.
//!
//! Reads files and cargo's own metadata. Starts nothing and decides nothing about clusters.

mod arrows;
mod documents;
mod generated;
mod module;
mod repository;
mod sources;
