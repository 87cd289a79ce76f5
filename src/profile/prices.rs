//! Every price of a profile, found by one walk.
//!
//! Each part of the profile says once, with `priced!`, which prices it has and what else it holds.
//! A field that is in neither list does not compile. Naming, comparing and drawing
//! prices, and some of what-if, are uses of the walk.

use super::{Curve, Estimate, Profile};
use crate::units::Bandwidth;

/// A price where it is in the profile.
#[derive(Debug)]
pub struct Price<'p> {
    pub key: Key,
    pub amount: Amount<'p>,
    /// What is drawn and scaled is the part above this: 1 for how many times as long something
    /// takes, 0 for everything else.
    pub least: f64,
    /// When it is drawn.
    pub(super) drawn: Drawn,
    /// The samples that it shares with other prices, which are drawn by the same factor. `None`: it
    /// has samples of its own.
    pub(super) samples: Option<SharedSamples>,
}

/// What a price is.
#[derive(Debug)]
pub enum Amount<'p> {
    Time(&'p mut Estimate),
    Curve(&'p mut Curve),
    Number(&'p mut f64),
    Rate(&'p mut Bandwidth),
    /// Pairs of a size and a share, or of a share of cases and a factor.
    Shares(&'p mut Vec<(f64, f64)>),
}

/// Samples that several prices come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SharedSamples {
    /// Tells them from the samples of other prices of the walk.
    pub number: usize,
    pub scatter: f64,
}

/// When a price is drawn: all of one kind before those of the next, and within a kind in the order
/// of the walk. The order must stay: with the same random numbers in another order, every range
/// would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Drawn {
    /// Calls, and how long they take to reach an idle device.
    First,
    Usual,
    /// The use of memory of the other side: mapped, write-combined and managed.
    OtherMemory,
    /// What only spelled-out programs do.
    SpelledOut,
    /// Not at all. `tests/suite/ranges_draw_every_parameter.rs` says why.
    No,
}

/// The place of a price in the profile's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(pub(super) Vec<Step>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Field(&'static str),
    Item(usize),
}

impl Key {
    /// The section of the file.
    pub fn section(&self) -> &'static str {
        self.fields().next().unwrap_or_default()
    }

    /// The names of the fields, joined by dots. It does not say which item of a list it is.
    pub fn dotted(&self) -> String {
        self.fields().collect::<Vec<_>>().join(".")
    }

    fn fields(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter_map(|step| match *step {
            Step::Field(name) => Some(name),
            Step::Item(_) => None,
        })
    }
}

impl Price<'_> {
    /// Makes what is paid so many times as much. A rate is paid as time. What says only how times
    /// are spread stays.
    pub fn scale(&mut self, factor: f64) {
        let least = self.least;
        let scaled = |value: f64| least + (value - least) * factor;
        match &mut self.amount {
            Amount::Time(time) => {
                time.ns = scaled(time.ns);
                time.other.iter_mut().for_each(|other| other.ns = scaled(other.ns));
            }
            Amount::Curve(curve) => {
                curve.knots.iter_mut().for_each(|knot| knot.1 = scaled(knot.1));
            }
            Amount::Number(number) => **number = scaled(**number),
            Amount::Rate(rate) => {
                **rate = Bandwidth::from_bytes_per_second(rate.bytes_per_second() / factor);
            }
            Amount::Shares(_) => {}
        }
    }
}

impl Profile {
    /// Every price, in the same order for the same models.
    pub fn prices_mut(&mut self) -> Vec<Price<'_>> {
        self.walked(true)
    }

    /// Like [`Self::prices_mut`], with empty keys. Each key is a list on the heap, and draws, which
    /// are made by the hundred, ask for none.
    pub(super) fn prices_without_keys(&mut self) -> Vec<Price<'_>> {
        self.walked(false)
    }

    fn walked(&mut self, with_keys: bool) -> Vec<Price<'_>> {
        let mut walk = Walk {
            key: with_keys.then(Vec::new),
            drawn: Drawn::No,
            least: 0.0,
            samples: None,
            shared: 0,
            found: Vec::new(),
        };
        self.visit(&mut walk);
        walk.found
    }
}

/// What has prices.
pub(super) trait Priced {
    fn visit<'p>(&'p mut self, walk: &mut Walk<'p>);
}

/// A walk through a profile.
pub(super) struct Walk<'p> {
    /// Where it is; `None` if nobody asks.
    key: Option<Vec<Step>>,
    /// What it was told of the prices there.
    drawn: Drawn,
    pub least: f64,
    pub samples: Option<SharedSamples>,
    /// How many samples are shared so far.
    shared: usize,
    found: Vec<Price<'p>>,
}

impl<'p> Walk<'p> {
    pub fn field(&mut self, name: &'static str, drawn: Drawn, part: &'p mut impl Priced) {
        self.drawn = drawn;
        self.at(Step::Field(name), part);
    }

    /// Begins a part whose prices come from the same samples.
    pub fn share_samples(&mut self, scatter: f64) {
        self.samples = Some(SharedSamples { number: self.shared, scatter });
        self.shared += 1;
    }

    fn at(&mut self, step: Step, part: &'p mut impl Priced) {
        if let Some(key) = &mut self.key {
            key.push(step);
        }
        part.visit(self);
        if let Some(key) = &mut self.key {
            key.pop();
        }
    }

    fn price(&mut self, amount: Amount<'p>) {
        let Self { drawn, least, samples, .. } = *self;
        let key = Key(self.key.clone().unwrap_or_default());
        self.found.push(Price { key, amount, least, drawn, samples });
    }
}

/// Says what a part of the profile holds: its prices by when they are drawn, in the order of the
/// walk, each `as` its key in the file if that differs from its field; `besides` these, what is no
/// price. `above`: what prices are drawn and scaled above. `by`: the scatter of the samples that
/// all its prices come from.
macro_rules! priced {
    (
        $part:ty { $($drawn:ident: $($field:ident $(as $key:literal)?),+;)+ }
        $(besides $($other:ident),+)? $(; above $least:literal)? $(; by |$of:ident| $scatter:expr)?
    ) => {
        impl $crate::profile::prices::Priced for $part {
            fn visit<'p>(&'p mut self, walk: &mut $crate::profile::prices::Walk<'p>) {
                let outer = (walk.samples, walk.least);
                $(
                    let $of = &*self;
                    walk.share_samples($scatter);
                )?
                $(walk.least = $least;)?
                let Self { $($($field,)+)+ $($($other: _,)+)? } = self;
                $($(
                    let key = $crate::profile::prices::priced!(@ $field $($key)?);
                    walk.field(key, $crate::profile::prices::Drawn::$drawn, $field);
                )+)+
                (walk.samples, walk.least) = outer;
            }
        }
    };
    (@ $field:ident) => { stringify!($field) };
    (@ $field:ident $key:literal) => { $key };
}
pub(super) use priced;

impl<T: Priced> Priced for Option<T> {
    fn visit<'p>(&'p mut self, walk: &mut Walk<'p>) {
        self.iter_mut().for_each(|part| part.visit(walk));
    }
}

impl<T: Priced> Priced for Vec<T> {
    fn visit<'p>(&'p mut self, walk: &mut Walk<'p>) {
        self.iter_mut().enumerate().for_each(|(at, part)| walk.at(Step::Item(at), part));
    }
}

/// A price is an amount of its kind.
macro_rules! amounts {
    ($($kind:ty => $amount:ident),+) => {$(
        impl Priced for $kind {
            fn visit<'p>(&'p mut self, walk: &mut Walk<'p>) {
                walk.price(Amount::$amount(self));
            }
        }
    )+};
}

amounts! {
    Estimate => Time, Curve => Curve, f64 => Number, Bandwidth => Rate, Vec<(f64, f64)> => Shares
}
