//! Scenarios to start from, each of them complete and commented.

use crate::files::name_problem;
use crate::units::words;

words! {
    /// What a new scenario looks like, by the name that it has until it has one of its own.
    pub enum Template {
        /// Batches from the host feed a step of a model.
        Loader = "loader",
        /// One task.
        Kernel = "kernel",
        /// A chain of tasks, each reading what the one before wrote.
        Layers = "layers",
        /// Two programs, call by call.
        Program = "program",
    }
}

impl Template {
    /// The text of a new scenario, for a file that stands beside its JSON Schema.
    ///
    /// A name that a scenario cannot have is not taken over.
    pub fn text(self, name: &str, schema: &str) -> String {
        let text = match self {
            Self::Loader => include_str!("templates/loader.toml"),
            Self::Kernel => include_str!("templates/kernel.toml"),
            Self::Layers => include_str!("templates/layers.toml"),
            Self::Program => include_str!("templates/program.toml"),
        };
        let name = if name_problem(name).is_none() { name } else { self.name() };
        let default = format!("name = \"{}\"\n", self.name());
        // What a name may contain is written the same way in TOML, but for quotation marks.
        let named = format!("name = \"{}\"\n", name.replace('"', "\\\""));
        // Taplo and the editors that use it look for the schema in the first line.
        format!("#:schema ./{schema}\n{}", text.replacen(&default, &named, 1))
    }
}
