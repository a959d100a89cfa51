//! How busy file systems were, in each format.

pub mod html;
pub mod json;
pub mod text;
pub mod words;
