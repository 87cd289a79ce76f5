//! twins_compute_what_they_say
