//! Files in and out of `ccbcut`: images, label maps, graphs.

mod atomic;

mod bytes;

mod error;

mod npy;

pub use crate::{
    atomic::{Outputs, Overwrite, write_whole},
    error::{Error, Place, Result},
    npy::{Array, Element, Values, decode_npy, read_npy, write_npy},
};
