//! Files in and out of `ccbcut`: images, label maps, graphs.
//!
//! | | read | write |
//! |---|---|---|
//! | images | PNG, JPEG, TIFF, WebP, BMP, PNM, `.npy` | PNG |
//! | volumes | `.npy`, TIFF of several pages | their label maps: `.npy`, TIFF |
//! | feature maps | `.npy`, `.npz`, `.safetensors`, TIFF of any number of bands, images | |
//! | label maps | PNG, TIFF, `.npy`, `.mat` (`segs`, BSDS `groundTruth`) | PNG, TIFF, `.npy`, `.mat`, COCO, GeoJSON, CSV |
//! | hierarchies | `.mat` (`ucm2`), `.npy`, PNG | `.mat`, `.npy`, PNG |
//! | contour maps | images, `.npy` | PNG, `.npy` |
//! | ground truth with boundaries | as label maps | |
//! | graphs | `.npz`, `.mtx`, `.npy`, METIS `.graph`, edge lists | `.npz`, `.mtx` |
//! | points | `.npy`, `.csv` | |
//! | labels of vertices | `.npy`, `.csv`, `.txt` | `.npy`, `.csv`, `.npz` |
//! | trees of a hierarchical cut | `.json`, `.npz` | `.json`, `.npz` |
//! | pairs and seeds of vertices | `.csv`, `.txt` | |
//! | weights of vertices | `.npy`, `.csv`, `.txt`, METIS `.graph` | |
//!
//! For each kind there are up to four functions: `read_…` from a path, `decode_…` from bytes in memory, `write_…` to
//! a path, and `encode_…` to bytes, which [`Outputs`] writes together with others. Files come from anywhere, so
//! every reader checks sizes before it allocates and answers damage with an [`Error`] that names the file and the
//! place. Files appear whole or not at all.
//!
//! ```
//! use ccbcut_io::{Overwrite, read_graph, write_graph};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("triangle.mtx");
//! let triangle = ccbcut::Graph::from_edges(3, &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 0.5)])?;
//! write_graph(&path, &triangle, Overwrite::Refuse)?;
//! assert_eq!(read_graph(&path)?.degrees(), triangle.degrees());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Pictures.

mod images;

mod jpeg;

pub mod paint;

mod feature_maps;

mod safetensors;

mod volumes;

// Segmentations.

mod label_maps;

mod contour_maps;

mod ground_truth;

mod mat;

mod coco;

mod geojson;

mod table;

// Graphs, and labels of their vertices.

mod graphs;

mod npz;

mod zip;

mod matrix_market;

mod edge_list;

mod metis;

mod points;

mod label_vectors;

mod vertex_values;

mod fields;

mod trees;

// What all of them use.

mod npy;

mod boundary_maps;
mod bytes;

mod atomic;

mod error;

pub use crate::{
    atomic::{Outputs, Overwrite, write_whole},
    boundary_maps::{decode_contours, encode_contours, read_contours},
    coco::{CocoCounts, Rle, encode_coco, write_coco},
    contour_maps::{decode_ucm, encode_ucm, read_ucm, write_ucm},
    error::{Error, Place, Result},
    feature_maps::{FeatureMap, FeatureOptions, Layout, decode_features, read_features},
    geojson::{encode_geojson, write_geojson},
    graphs::{
        GraphFile, GraphOptions, decode_graph, decode_graph_file, encode_graph, read_graph, read_graph_file,
        write_graph,
    },
    ground_truth::{Truth, decode_ground_truth, read_ground_truth},
    images::{Decoded, Limits, Mask, SourceInfo, decode_image, encode_png, read_image, read_mask, write_png},
    label_maps::{
        decode_label_maps, encode_label_map, encode_segs, read_label_map, read_label_maps, write_label_map,
        write_segs,
    },
    label_vectors::{
        decode_labels_vector, encode_labels_vector, encode_named_labels, read_labels_vector,
        write_labels_vector,
    },
    npy::{Array, Element, Values, decode_npy, encode_npy, read_npy, write_npy},
    npz::{Archive, decode_npz, read_npz, write_npz},
    points::{PointFile, decode_points, read_points},
    table::{RegionRow, encode_regions_csv, write_regions_csv},
    trees::{TreeFile, decode_tree, encode_tree, read_tree},
    vertex_values::{read_named_labels, read_seeds, read_vertex_pairs, read_vertex_weights},
    volumes::{VolumeFile, decode_volume, encode_label_volume, read_volume},
};
