//! statistics_match_closed_forms
