//! What goes on while other streams wait.

/// Whether H2D copies, and D2H ones, go on while kernels are timed: all four cases.
pub const MEANWHILE: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

pub(super) const fn meanwhile(copies: [bool; 2]) -> &'static str {
    match copies {
        [false, false] => "",
        [true, false] => ", during H2D copies",
        [false, true] => ", during D2H copies",
        [true, true] => ", during copies in both directions",
    }
}
