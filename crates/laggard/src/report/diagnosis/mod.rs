//! The diagnosis, in each format.

pub mod html;
pub mod json;
pub mod text;
