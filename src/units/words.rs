//! Enumerations whose kinds each have a word.

/// Makes an enumeration of one table: its kinds in the order in which they are listed, each with
/// the word for it.
macro_rules! words {
    (
        $(#[$about:meta])*
        pub enum $Words:ident { $($(#[$of_one:meta])* $one:ident = $word:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Words { $($(#[$of_one])* $one,)+ }

        impl $Words {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$one),+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$one => $word,)+ }
            }

            /// The kind of this name; `None` if there is no such kind.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }

        impl std::fmt::Display for $Words {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use words;
