//! What goes on while other streams wait.

/// Whether H2D copies, and D2H ones, go on while kernels are timed: all four cases.
pub const MEANWHILE: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];
