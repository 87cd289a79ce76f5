//! Values that may be written in several ways.

/// Reads such a value: what errors say is expected, and the visits of serde that make one. An
/// untagged enum of serde would not say which key of a table is wrong.
macro_rules! written_in_several_ways {
    ($Value:ident, $expected:literal, $($visits:tt)*) => {
        impl<'de> serde::de::Deserialize<'de> for $Value {
            fn deserialize<D: serde::de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Ways;

                impl<'de> serde::de::Visitor<'de> for Ways {
                    type Value = $Value;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }

                    $($visits)*
                }

                from.deserialize_any(Ways)
            }
        }
    };
}

pub(crate) use written_in_several_ways;
