//! placeholder
use crate::session::Session;
pub fn render(_session: &Session) -> String { String::new() }
