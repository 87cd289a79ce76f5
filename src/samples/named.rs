//! Kinds of something, each with a word and a name.

/// An enumeration whose kinds each have a word, for files and tables, and a name, for sentences.
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $kind:ident { $($(#[$of_one:meta])* $one:ident = $word:literal, $name:literal;)+ }
    ) => {
        crate::units::words! {
            $(#[$about])*
            #[derive(serde::Serialize, serde::Deserialize)]
            pub enum $kind { $($(#[$of_one])* #[serde(rename = $word)] $one = $name,)+ }
        }

        impl $kind {
            /// The word that files and tables have for it.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$one => $word,)+ }
            }
        }
    };
}
pub(super) use named;
