//! Recordings: what is recorded is what crossed, it survives damage as far as it can, and the native reconciler, the sealed
//! module and the recording agree byte by byte.

mod command;
mod convert;
mod damage;
mod equal;
mod exports;
mod fixtures;
mod model;
mod plan;
mod reality;
mod reproducible;
mod ring;
