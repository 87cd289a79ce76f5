//! Values to strings: text tables, JSON, Markdown, plots.
//!
//! Invariant: no files, no terminal; whoever calls decides where a string goes.
