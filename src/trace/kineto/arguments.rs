//! The arguments of an event. Each is kept as it is written until it is wanted: which ones there
//! are, and whether numbers are texts, differs between versions and vendors.

use serde::Deserialize;
use serde_json::value::RawValue;

type Raw<'a> = Option<&'a RawValue>;

#[derive(Deserialize, Default)]
pub(super) struct Arguments<'a> {
    #[serde(borrow, default)]
    pub device: Raw<'a>,
    #[serde(borrow, default)]
    pub stream: Raw<'a>,
    #[serde(borrow, default)]
    pub correlation: Raw<'a>,
    #[serde(borrow, default)]
    pub bytes: Raw<'a>,
    #[serde(borrow, default)]
    pub grid: Raw<'a>,
    #[serde(borrow, default)]
    pub block: Raw<'a>,
    #[serde(borrow, default, rename = "registers per thread")]
    pub registers: Raw<'a>,
    #[serde(borrow, default, rename = "shared memory")]
    pub shared: Raw<'a>,
    #[serde(borrow, default, rename = "graph node id")]
    pub graph_node: Raw<'a>,
    #[serde(borrow, default)]
    pub wait_on_stream: Raw<'a>,
    #[serde(borrow, default)]
    pub wait_on_cuda_event_record_corr_id: Raw<'a>,
    #[serde(borrow, default)]
    pub wait_on_cuda_event_id: Raw<'a>,
    /// These four come from ROCm.
    #[serde(borrow, default)]
    pub size: Raw<'a>,
    #[serde(borrow, default)]
    pub src: Raw<'a>,
    #[serde(borrow, default)]
    pub dst: Raw<'a>,
    #[serde(borrow, default)]
    pub ptr: Raw<'a>,
    /// The name that a thread gets.
    #[serde(borrow, default)]
    pub name: Raw<'a>,
}

impl<'a> Arguments<'a> {
    /// No arguments are as good as none that are known.
    pub fn of(raw: Raw<'a>) -> Option<Self> {
        raw.map_or_else(|| Some(Self::default()), |raw| serde_json::from_str(raw.get()).ok())
    }
}

/// What is written, without quotation marks.
pub(super) fn text(raw: Raw<'_>) -> Option<&str> {
    let text = raw?.get();
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    Some(inner.unwrap_or(text))
}

/// A whole number that is not negative, whether it is a number, a text or hexadecimal.
pub(super) fn number(raw: Raw<'_>) -> Option<u64> {
    let text = text(raw)?;
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

/// The id of a stream or an event. All bits set stand for none, in 32 or 64 of them.
pub(super) fn id(raw: Raw<'_>) -> Option<u64> {
    number(raw).filter(|&id| id != u64::from(u32::MAX) && id != u64::MAX)
}

/// A process or a thread, which may have a negative number.
pub(super) fn host(raw: Raw<'_>) -> Option<u64> {
    let text = text(raw)?;
    text.parse().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
}

/// The three sizes of a grid or block, zero where none are given.
pub(super) fn sizes(raw: Raw<'_>) -> Option<[u32; 3]> {
    raw.map_or(Some([0; 3]), |raw| serde_json::from_str(raw.get()).ok())
}
