//! scenarios_are_checked
