//! What links carry on paper, and where the rest goes.

use std::fmt;
use std::str::FromStr;

/// A PCI Express link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcieLink {
    pub generation: u8,
    pub lanes: u32,
}

/// Transfers per second of a lane, in 10^9, by generation from 1 on (PCI Express Base
/// Specification 6.0, section 1.2).
const SPEEDS: [f64; 6] = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0];
/// Widths that a link can have (the same, section 1.2).
const WIDTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];

impl PcieLink {
    /// From what a calibration notes of a link, such as `32.0 GT/s PCIe x16`.
    pub fn noted(link: &str) -> Option<Self> {
        let (speed, rest) = link.split_once(" GT/s")?;
        let (_, lanes) = rest.rsplit_once('x')?;
        let (speed, lanes) = (speed.trim().parse::<f64>().ok()?, lanes.trim().parse().ok()?);
        let at = SPEEDS.iter().position(|one| (one - speed).abs() < 0.05)?;
        let generation = u8::try_from(at + 1).ok()?;
        WIDTHS.contains(&lanes).then_some(Self { generation, lanes })
    }

    /// What two ends agree on: the older generation and the fewer lanes.
    #[must_use]
    pub fn narrower(self, other: Self) -> Self {
        Self {
            generation: self.generation.min(other.generation),
            lanes: self.lanes.min(other.lanes),
        }
    }

    /// Transfers per second of a lane, in 10^9: each is one bit.
    pub const fn speed(self) -> f64 {
        SPEEDS[self.generation as usize - 1]
    }

    /// The share of all bits that line coding leaves: 8b/10b in generations 1 and 2, 128b/130b in 3
    /// to 5 (PCI Express Base Specification 5.0, section 4.2). Generation 6 sends units of 256
    /// bytes, 236 of them for packets; the others hold link control, a checksum and error
    /// correction (the same, 6.0, section 4.2.3, "Flit Mode").
    pub const fn coding(self) -> f64 {
        match self.generation {
            1 | 2 => 8.0 / 10.0,
            3..=5 => 128.0 / 130.0,
            _ => 236.0 / 256.0,
        }
    }

    /// Bytes per nanosecond in one direction before anything is taken off.
    pub const fn raw(self) -> f64 {
        self.speed() * self.lanes as f64 / 8.0
    }

    /// Bytes per nanosecond in one direction after line coding: what is meant by a link's bandwidth
    /// on paper.
    pub const fn on_paper(self) -> f64 {
        self.raw() * self.coding()
    }

    /// Bytes of a packet besides its data. Up to generation 5: start symbol and sequence number 4,
    /// header with an address of 64 bits 16 (a completion's has 12), checksum 4 (PCI Express Base
    /// Specification 5.0, sections 2.2, 3.5 and 4.2.2). In generation 6 the flit has the first and
    /// the last of them.
    pub const fn overhead(self, is_completion: bool) -> f64 {
        let header = if is_completion { 12.0 } else { 16.0 };
        if self.generation >= 6 { header } else { header + 8.0 }
    }

    /// Bytes per nanosecond of data in packets of so much of it. Data that a device reads comes in
    /// completions; what it writes goes in requests.
    pub fn with_packets(self, payload: f64, is_completion: bool) -> f64 {
        self.on_paper() * payload / (payload + self.overhead(is_completion))
    }
}

impl fmt::Display for PcieLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gen{}x{}", self.generation, self.lanes)
    }
}

impl FromStr for PcieLink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let (generation, lanes) = text.strip_prefix("gen")?.split_once('x')?;
            let (generation, lanes) = (generation.parse::<u8>().ok()?, lanes.parse().ok()?);
            let is_known = (1..=SPEEDS.len()).contains(&usize::from(generation));
            (is_known && WIDTHS.contains(&lanes)).then_some(Self { generation, lanes })
        };
        parsed().ok_or_else(|| {
            format!(
                "`{text}` is not a link: write one from `gen1x1` to `gen6x16`, such as \
                     `gen4x16`"
            )
        })
    }
}

/// The links between GPUs (NVLink) that a GPU has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NvLinks {
    pub generation: u8,
    pub count: u32,
    /// Bytes per nanosecond that one link carries in one direction, after coding.
    pub each: f64,
}

/// By words in the GPU's name. NVIDIA's papers on the P100, V100, A100, H100 and Blackwell
/// architectures ("NVLink") give the sum of both directions.
const NVLINKS: [(&str, NvLinks); 6] = [
    ("P100", NvLinks { generation: 1, count: 4, each: 20.0 }),
    ("V100", NvLinks { generation: 2, count: 6, each: 25.0 }),
    ("A100", NvLinks { generation: 3, count: 12, each: 25.0 }),
    ("H100", NvLinks { generation: 4, count: 18, each: 25.0 }),
    ("H200", NvLinks { generation: 4, count: 18, each: 25.0 }),
    ("B200", NvLinks { generation: 5, count: 18, each: 50.0 }),
];

impl NvLinks {
    /// The links of a GPU of this name, if it is made with them. Boards for a slot have fewer, or
    /// none.
    pub fn of(gpu: &str) -> Option<Self> {
        NVLINKS.iter().find(|(model, _)| gpu.contains(model)).map(|(_, links)| *links)
    }

    /// Bytes per nanosecond in one direction on paper, all links together.
    pub fn on_paper(self) -> f64 {
        self.each * f64::from(self.count)
    }
}
