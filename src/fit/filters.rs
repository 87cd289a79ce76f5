//! The filters of the fit by name, and the switches that turn them off.
//!
//! A filter keeps what disturbed a measurement out of the model: others on the same host, another
//! moment of the machine, too few samples.

use crate::units::words;

words! {
    /// A filter of the fit that can be switched off.
    pub enum Filter {
        /// Divides out how fast the host was at the moment of each measurement. Without it, each
        /// time counts as it was measured.
        Drift = "drift",
        /// Leaves out visits in which the device was clearly slower than in the fastest one.
        /// Without it, all visits count.
        SlowVisits = "slow-visits",
        /// Takes the short samples where repetitions in the long ones were held up. Without it,
        /// the difference of both counts.
        HeldUp = "held-up",
        /// Keeps the rarer of two times of an operation apart from its usual time. Without it, the
        /// time is the middle of all.
        RareTimes = "rare-times",
        /// Gives single samples far from the others less weight, or none. Without it, the time is
        /// the mean of all.
        Outliers = "outliers",
        /// Drops points of a curve that rest on few samples and contradict other sizes. Without it,
        /// the curve goes through them.
        Contradictions = "contradictions",
        /// Drops sizes at which every copy was hindered on the link. Without it, the curve goes
        /// through them.
        Hindrances = "hindrances",
        /// Brings down times that are far above the time of a larger size. Without it, they stay.
        Fallen = "fallen",
    }
}
