//! What goes on while other streams wait.

/// Whether H2D copies, and D2H ones, go on while kernels are timed: all four cases.
pub const MEANWHILE: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

pub(super) const fn meanwhile(copies: [bool; 2]) -> &'static str {
    match copies {
        [false, false] => "",
        [true, false] => ", H2D copies meanwhile",
        [false, true] => ", D2H copies meanwhile",
        [true, true] => ", copies both ways meanwhile",
    }
}
