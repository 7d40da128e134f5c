//! Files in and out of `ccbcut`: images, label maps, graphs.

mod images;

mod jpeg;

mod label_maps;

mod mat;

mod label_vectors;

mod coco;

mod geojson;

mod table;

mod graphs;

mod npz;

mod zip;

mod matrix_market;

mod edge_list;

mod npy;

mod atomic;

mod bytes;

mod error;

pub use crate::{
    atomic::{Outputs, Overwrite, write_whole},
    coco::{CocoCounts, Rle, encode_coco, write_coco},
    error::{Error, Place, Result},
    geojson::{encode_geojson, write_geojson},
    graphs::{encode_graph, read_graph, write_graph},
    images::{Decoded, Limits, Mask, SourceInfo, decode_image, encode_png, read_image, read_mask, write_png},
    label_maps::{
        encode_label_map, encode_segs, read_label_map, read_label_maps, write_label_map, write_segs,
    },
    label_vectors::{encode_labels_vector, read_labels_vector, write_labels_vector},
    npy::{Array, Element, Values, decode_npy, read_npy, write_npy},
    npz::{Archive, read_npz, write_npz},
    table::{RegionRow, encode_regions_csv, write_regions_csv},
};
