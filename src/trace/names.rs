//! What people call an operation of a GPU.

use super::{Origin, Trace, WorkKind};
use crate::files::without_controls;
use crate::kernels::Kernel;

/// Whether a text cannot stand in one line as it is.
fn is_foul(text: &str) -> bool {
    text.contains(char::is_control) || without_controls(text) != text
}

fn cleaned(text: &str) -> String {
    without_controls(text).replace(char::is_control, " ")
}

impl Trace {
    /// Replaces what would end a line or steer a terminal: names go into answers and into files
    /// that are read again.
    pub(super) fn clean_names(&mut self) {
        let gpus = self.gpus.iter_mut().map(|gpu| &mut gpu.name);
        let threads = self.threads.iter_mut().map(|thread| &mut thread.name);
        let Origin { version, part, .. } = &mut self.origin;
        let texts = gpus.chain(threads).chain([version, part]);
        for text in texts.flatten().filter(|text| is_foul(text)) {
            *text = cleaned(text);
        }
        let functions = self.calls.iter_mut().map(|call| &mut call.function);
        let kernels = self.work.iter_mut().filter_map(|work| match &mut work.kind {
            WorkKind::Kernel { name, .. } => Some(name),
            WorkKind::Copy { .. } | WorkKind::Clear { .. } => None,
        });
        let ranges = self.ranges.iter_mut().map(|range| &mut range.name);
        for name in functions.chain(kernels).chain(ranges).filter(|name| is_foul(name)) {
            *name = cleaned(name).into();
        }
    }

    /// An operation in words: what it is, and its stream.
    pub fn named(&self, work: usize) -> String {
        let work = &self.work[work];
        let stream = work.stream.stream;
        match &work.kind {
            WorkKind::Kernel { name, .. } => format!("kernel `{}` in stream {stream}", short(name)),
            WorkKind::Copy { bytes, .. } => {
                let way = work.kind.crossing().map_or("D2D", |(way, _)| way.name());
                let size = bytes.map_or_else(String::new, |bytes| format!(" of {bytes}"));
                format!("{way} copy{size} in stream {stream}")
            }
            WorkKind::Clear { .. } => format!("memset in stream {stream}"),
        }
    }
}

/// The name of a kernel without its types: `elementwise_kernel` for
/// `void at::native::elementwise_kernel<4, …>(int, …)`.
pub fn short(full: &str) -> String {
    let before = full.split(['<', '(']).next().unwrap_or(full);
    let last = before.rsplit("::").next().unwrap_or(before).rsplit(' ').next().unwrap_or(before);
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let plain: String = last.chars().filter(is_plain).take(60).collect();
    match plain.as_str() {
        "" => "kernel".to_owned(),
        // The library has that name.
        name if Kernel::from_name(name).is_some() => format!("{name} from the trace"),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn names_lose_their_types() {
        let full = "void at::native::vectorized_elementwise_kernel<4, at::native::X>(int, float)";
        assert_eq!(short(full), "vectorized_elementwise_kernel");
        assert_eq!(short("cudnn_ampere_scudnn_128x64_relu"), "cudnn_ampere_scudnn_128x64_relu");
        assert_eq!(short("scale(float*, int)"), "scale from the trace");
        assert_eq!(short("(anonymous namespace)::f"), "kernel");
    }
}
