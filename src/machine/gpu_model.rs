//! What GPUs have by their data sheets.

use super::PcieLink;
use crate::units::Bytes;

/// A GPU, as its maker describes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuModel {
    /// What users call it here, such as `rtx-4060-laptop`.
    pub key: &'static str,
    /// How the name ends that its driver gives it.
    pub name: &'static str,
    pub multiprocessors: u32,
    gibibytes: u64,
    /// Bytes per nanosecond that its memory carries.
    pub memory: f64,
    /// Operations of f32 per nanosecond at the boost clock, without matrix units.
    pub flops: f64,
    link: [u8; 2],
    capability: &'static str,
}

impl GpuModel {
    pub const fn device_memory(&self) -> Bytes {
        Bytes::new(self.gibibytes << 30)
    }

    /// The widest link that it has.
    pub const fn link(&self) -> PcieLink {
        PcieLink { generation: self.link[0], lanes: self.link[1] as u32 }
    }

    pub const fn compute_capability(&self) -> &'static str {
        self.capability
    }

    /// All that are known here.
    pub const fn all() -> &'static [Self] {
        &MODELS
    }

    /// The one of this key.
    pub fn with_key(key: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.key == key)
    }

    /// The one that a driver means by a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| {
            let before = name.strip_suffix(model.name);
            before.is_some_and(|before| before.is_empty() || before.ends_with(' '))
        })
    }
}

/// A row of the table: key, name, multiprocessors, GiB, GB/s, Gflop/s, link, compute capability.
macro_rules! models {
    ($($key:literal $name:literal $multiprocessors:literal $gibibytes:literal $memory:literal
        $flops:literal gen $generation:literal x $lanes:literal $capability:literal)+) => {
        [$(GpuModel {
            key: $key,
            name: $name,
            multiprocessors: $multiprocessors,
            gibibytes: $gibibytes,
            memory: $memory,
            flops: $flops,
            link: [$generation, $lanes],
            capability: $capability,
        }),+]
    };
}

/// From NVIDIA's data sheets and architecture papers of each GPU. That of a GPU in a laptop is at
/// its highest clock, which the laptop's power budget may not allow.
static MODELS: [GpuModel; 23] = models! {
    "gtx-1060"        "GTX 1060 6GB"          10   6  192.0   4_375.0 gen 3 x 16 "6.1"
    "gtx-1080-ti"     "GTX 1080 Ti"           28  11  484.0  11_340.0 gen 3 x 16 "6.1"
    "rtx-2080-ti"     "RTX 2080 Ti"           68  11  616.0  13_450.0 gen 3 x 16 "7.5"
    "rtx-3060"        "RTX 3060"              28  12  360.0  12_740.0 gen 4 x 16 "8.6"
    "rtx-3080"        "RTX 3080"              68  10  760.0  29_770.0 gen 4 x 16 "8.6"
    "rtx-3090"        "RTX 3090"              82  24  936.0  35_580.0 gen 4 x 16 "8.6"
    "rtx-4060"        "RTX 4060"              24   8  272.0  15_110.0 gen 4 x 8  "8.9"
    "rtx-4060-laptop" "RTX 4060 Laptop GPU"   24   8  256.0  14_560.0 gen 4 x 8  "8.9"
    "rtx-4070"        "RTX 4070"              46  12  504.0  29_150.0 gen 4 x 16 "8.9"
    "rtx-4070-laptop" "RTX 4070 Laptop GPU"   36   8  256.0  20_040.0 gen 4 x 8  "8.9"
    "rtx-4090"        "RTX 4090"             128  24 1008.0  82_580.0 gen 4 x 16 "8.9"
    "rtx-5090"        "RTX 5090"             170  32 1792.0 104_800.0 gen 5 x 16 "12.0"
    "rtx-6000-ada"    "RTX 6000 Ada Generation" 142  48  960.0  91_060.0 gen 4 x 16 "8.9"
    "t4"              "T4"                    40  16  320.0   8_141.0 gen 3 x 16 "7.5"
    "v100-pcie"       "V100-PCIE-32GB"        80  32  900.0  14_130.0 gen 3 x 16 "7.0"
    "a10"             "A10"                   72  24  600.0  31_240.0 gen 4 x 16 "8.6"
    "a100-pcie"       "A100 80GB PCIe"       108  80 1935.0  19_490.0 gen 4 x 16 "8.0"
    "a100-sxm"        "A100-SXM4-80GB"       108  80 2039.0  19_490.0 gen 4 x 16 "8.0"
    "l4"              "L4"                    58  24  300.0  30_290.0 gen 4 x 16 "8.9"
    "l40s"            "L40S"                 142  48  864.0  91_610.0 gen 4 x 16 "8.9"
    "h100-pcie"       "H100 PCIe"            114  80 2039.0  51_220.0 gen 5 x 16 "9.0"
    "h100-sxm"        "H100 80GB HBM3"       132  80 3352.0  66_910.0 gen 5 x 16 "9.0"
    "h200"            "H200"                 132 141 4800.0  66_910.0 gen 5 x 16 "9.0"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_names_are_recognised() {
        let key = |name| GpuModel::named(name).map(|model| model.key);
        assert_eq!(key("NVIDIA H200"), Some("h200"));
        assert_eq!(key("NVIDIA GeForce RTX 4060 Laptop GPU"), Some("rtx-4060-laptop"));
        assert_eq!(key("NVIDIA GeForce RTX 4060"), Some("rtx-4060"));
        assert_eq!(key("NVIDIA GeForce RTX 4060 Ti"), None);
        assert_eq!(key("NVIDIA L40S"), Some("l40s"));
        assert_eq!(key("Quadro K620"), None);
    }
}
