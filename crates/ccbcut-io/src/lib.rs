//! Files in and out of `ccbcut`: images, label maps, graphs.
