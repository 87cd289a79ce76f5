//! Whole-number expressions: in the names and byte ranges of calls, such as `i * 32 MiB` and
//! `ring{i % 2}`, and in the rules of kernels, such as `ceil(columns / 32)`.

use crate::files::{Fault, Spanned, in_backquotes};
use crate::units::Bytes;
use std::ops::Range;

/// The indices of the loops around a call, innermost last.
pub(super) type Indices = Vec<(String, i64)>;

/// A part of a text with its place in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'t> {
    pub text: &'t str,
    /// Where the value that the text is part of stands: a part points at all of it.
    pub span: (usize, usize),
}

impl<'t> Part<'t> {
    pub fn new(text: &'t str, span: &Range<usize>) -> Self {
        Self { text, span: (span.start, span.end) }
    }

    /// All of a text.
    pub fn whole(text: &'t Spanned<String>) -> Self {
        Self::new(text.get_ref(), &text.span())
    }

    pub const fn with_text(self, text: &'t str) -> Self {
        Self { text, ..self }
    }

    pub const fn range(&self) -> Range<usize> {
        self.span.0..self.span.1
    }

    pub fn fault(&self, message: String, label: &str, help: impl Into<String>) -> Fault {
        Fault::new(message, self.range(), label, help)
    }
}

/// The value of an expression: whole numbers, amounts of memory such as `32 MiB`, indices of
/// loops, `+ - * / %`, parentheses, `min`, `max` and `ceil`. Division drops the rest, but not
/// inside `ceil`, which rounds up.
pub(super) fn evaluate(part: Part<'_>, indices: &Indices) -> Result<i64, Fault> {
    Reader::new(part, indices, &INDICES).value()
}

/// The value of an expression in a kernel's rule, over the numbers of a launch.
pub(super) fn evaluate_rule(part: Part<'_>, numbers: &Indices) -> Result<i64, Fault> {
    Reader::new(part, numbers, &NUMBERS).value()
}

/// Whether an expression names a number.
pub(super) fn names(text: &str, number: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.split(|letter| !is_part(letter)).any(|word| word == number)
}

/// A name in which every `{expression}` has become its value.
pub(super) fn filled_in(part: Part<'_>, indices: &Indices) -> Result<String, Fault> {
    let mut name = String::new();
    let mut rest = part.text;
    while let Some((before, inside)) = rest.split_once('{') {
        let Some((inside, after)) = inside.split_once('}') else {
            let message = format!("`{}` has an unclosed brace", part.text);
            return Err(part.fault(message, "missing `}`", "write, for example, `ring{i % 2}`"));
        };
        name += before;
        name += &evaluate(part.with_text(inside), indices)?.to_string();
        rest = after;
    }
    name += rest;
    if name.trim().is_empty() {
        return Err(part.fault("a name is empty".to_owned(), "empty", "write a name such as `d`"));
    }
    Ok(name)
}

/// What names stand for, in words.
struct Named {
    all: &'static str,
    one: &'static str,
    unknown: &'static str,
    /// Where there may be more of them.
    more: &'static str,
}

/// Names in calls.
const INDICES: Named = Named {
    all: "indices of `repeat`",
    one: "an index of an enclosing `repeat`",
    unknown: "unknown index",
    more: "",
};
/// Names in rules of kernels.
const NUMBERS: Named = Named {
    all: "variables of the launch",
    one: "a variable of the launch",
    unknown: "unknown variable",
    more: ", or define the unknown one in the call's `arguments`",
};

/// A value on the way: only inside `ceil` is it not whole.
#[derive(Clone, Copy)]
struct Fraction {
    over: i64,
    /// Above 0.
    under: i64,
}

impl Fraction {
    const fn whole(over: i64) -> Self {
        Self { over, under: 1 }
    }

    fn plus(self, other: Self, sign: i64) -> Option<Self> {
        let mine = self.over.checked_mul(other.under)?;
        let theirs = other.over.checked_mul(self.under)?.checked_mul(sign)?;
        Some(Self { over: mine.checked_add(theirs)?, under: self.under.checked_mul(other.under)? })
    }

    fn times(self, other: Self) -> Option<Self> {
        let (over, under) =
            (self.over.checked_mul(other.over)?, self.under.checked_mul(other.under)?);
        Some(Self { over, under })
    }

    /// The exact quotient. The other is not 0.
    fn divided_by(self, other: Self) -> Option<Self> {
        let sign = other.over.signum();
        let inverse = Self { over: other.under * sign, under: other.over.checked_abs()? };
        self.times(inverse)
    }

    fn ceil(self) -> Option<i64> {
        let quotient = self.over.div_euclid(self.under);
        quotient.checked_add(i64::from(self.over.rem_euclid(self.under) > 0))
    }

    fn is_less(self, other: Self) -> bool {
        let product = |one: i64, under: i64| i128::from(one) * i128::from(under);
        product(self.over, other.under) < product(other.over, self.under)
    }
}

/// Reads an expression from left to right (recursive descent).
struct Reader<'t, 'i> {
    part: Part<'t>,
    rest: &'t str,
    indices: &'i Indices,
    names: &'static Named,
    /// How many parentheses are open.
    depth: usize,
    /// Whether a division keeps its rest: so it is inside `ceil`.
    exact: bool,
}

/// More parentheses inside each other than anybody writes, and few enough for the stack.
const DEEPEST: usize = 64;

impl<'t, 'i> Reader<'t, 'i> {
    const fn new(part: Part<'t>, indices: &'i Indices, names: &'static Named) -> Self {
        Self { part, rest: part.text, indices, names, depth: 0, exact: false }
    }

    /// The value of all of the text.
    fn value(mut self) -> Result<i64, Fault> {
        let value = self.sum()?;
        self.skip_spaces();
        if self.rest.is_empty() { Ok(value.over) } else { Err(self.unexpected()) }
    }

    fn sum(&mut self) -> Result<Fraction, Fault> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator(&['+', '-']) {
            let next = self.product()?;
            let sign = if operator == '+' { 1 } else { -1 };
            value = value.plus(next, sign).ok_or_else(|| self.too_large())?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Fraction, Fault> {
        let mut value = self.factor()?;
        while let Some(operator) = self.operator(&['*', '/', '%']) {
            let next = self.factor()?;
            if next.over == 0 && operator != '*' {
                let message = format!("`{}` divides by 0", self.part.text);
                return Err(self.part.fault(message, "division by 0", "divide by another number"));
            }
            let are_whole = value.under == 1 && next.under == 1;
            let product = match operator {
                '*' => value.times(next),
                '/' if self.exact => value.divided_by(next),
                '/' => value.over.checked_div(next.over).map(Fraction::whole),
                _ if are_whole => value.over.checked_rem(next.over).map(Fraction::whole),
                _ => {
                    let message = format!("`{}` takes the remainder of a fraction", self.part.text);
                    let help = "use `%` only with whole numbers";
                    return Err(self.part.fault(message, "not whole", help));
                }
            };
            value = product.ok_or_else(|| self.too_large())?;
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<Fraction, Fault> {
        self.skip_spaces();
        if self.rest.starts_with('(') {
            return self.within_parentheses(Self::sum);
        }
        if self.rest.starts_with(|first: char| first.is_ascii_digit()) {
            return self.amount().map(Fraction::whole);
        }
        let name = self.take(|letter| letter.is_alphanumeric() || letter == '_');
        if name.is_empty() {
            return Err(self.unexpected());
        }
        self.skip_spaces();
        if self.rest.starts_with('(') {
            return self.function(name);
        }
        let found = self.indices.iter().rev().find(|(index, _)| index == name);
        found.map(|&(_, value)| Fraction::whole(value)).ok_or_else(|| self.no_index(name))
    }

    fn within_parentheses(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<Fraction, Fault>,
    ) -> Result<Fraction, Fault> {
        self.rest = &self.rest[1..];
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("parentheses are nested more than {DEEPEST} deep");
            return Err(self.part.fault(message, "too deep", "use fewer parentheses"));
        }
        let value = inside(self)?;
        self.depth -= 1;
        match self.operator(&[')']) {
            Some(_) => Ok(value),
            None => Err(self.unexpected()),
        }
    }

    /// The value of a function, whose opening parenthesis is next.
    fn function(&mut self, name: &str) -> Result<Fraction, Fault> {
        match name {
            "ceil" => {
                let outside = std::mem::replace(&mut self.exact, true);
                let value = self.within_parentheses(Self::sum)?;
                self.exact = outside;
                value.ceil().map(Fraction::whole).ok_or_else(|| self.too_large())
            }
            "min" | "max" => self.within_parentheses(|reader| {
                let mut chosen = reader.sum()?;
                while reader.operator(&[',']).is_some() {
                    let next = reader.sum()?;
                    let is_better =
                        if name == "min" { next.is_less(chosen) } else { chosen.is_less(next) };
                    chosen = if is_better { next } else { chosen };
                }
                Ok(chosen)
            }),
            _ => {
                let message = format!("there is no function `{name}`");
                let help = "use `ceil`, `min` or `max`";
                Err(self.part.fault(message, "unknown function", help))
            }
        }
    }

    /// A whole number, with a unit of memory or without.
    fn amount(&mut self) -> Result<i64, Fault> {
        let before = self.rest;
        self.take(|letter| letter.is_ascii_digit() || ['.', '_'].contains(&letter));
        let number = before[..before.len() - self.rest.len()].replace('_', "");
        let ahead = self.rest;
        self.skip_spaces();
        let unit = self.take(char::is_alphabetic);
        if unit.is_empty() {
            self.rest = ahead;
        }
        let amount = format!("{number} {unit}").trim_end().parse::<Bytes>().ok();
        amount.and_then(|bytes| i64::try_from(bytes.get()).ok()).ok_or_else(|| {
            let read = before[..before.len() - self.rest.len()].trim_end();
            let message = format!("`{read}` is not a whole number of bytes");
            self.part.fault(message, "not a number", "write `4096`, `32 MiB` or `1.5 GB`")
        })
    }

    fn operator(&mut self, wanted: &[char]) -> Option<char> {
        self.skip_spaces();
        let operator = self.rest.chars().next().filter(|first| wanted.contains(first))?;
        self.rest = &self.rest[operator.len_utf8()..];
        Some(operator)
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|letter| !belongs(letter)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unexpected(&self) -> Fault {
        let text = self.part.text;
        let message = match self.rest.chars().next() {
            Some(found) => format!("unexpected `{found}` in `{text}`"),
            None => format!("`{text}` is incomplete"),
        };
        let help = format!(
            "write whole numbers, amounts such as `32 MiB`, {}, + - * / %, parentheses, `ceil`, \
             `min` and `max`",
            self.names.all
        );
        self.part.fault(message, "not an expression", help)
    }

    fn too_large(&self) -> Fault {
        let message = format!("`{}` exceeds 64 bits", self.part.text);
        self.part.fault(message, "too large", "use smaller numbers")
    }

    fn no_index(&self, name: &str) -> Fault {
        let Named { one, unknown, more, .. } = self.names;
        let message = format!("`{name}` in `{}` is not {one}", self.part.text);
        let help = match in_backquotes(self.indices.iter().map(|(index, _)| index)) {
            none if none.is_empty() => "define one: `repeat = 10, index = \"i\"`".to_owned(),
            known => format!("use {known}"),
        };
        self.part.fault(message, unknown, help + more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, String> {
        let indices = vec![("i".to_owned(), 3), ("batch".to_owned(), 7)];
        evaluate(Part::new(text, &(0..text.len())), &indices).map_err(|fault| fault.message)
    }

    #[test]
    fn expressions_have_the_values_of_arithmetic() {
        for (text, wanted) in [
            ("4096", 4096),
            ("1_000", 1000),
            ("32 MiB", 32 << 20),
            ("1.5 kB", 1500),
            ("i*32MiB", 3 * (32 << 20)),
            (" i % 2 ", 1),
            ("(i + 1) * 2 - batch / 2", 5),
            ("10 - 4 - 3", 3),
            ("2 * 3 % 4", 2),
            ("((i))", 3),
            ("ceil(batch / 2)", 4),
            ("ceil(batch / 7) + 1", 2),
            ("ceil((batch + 1) / 2 / 3)", 2),
            ("ceil(i / 2 + i / 2)", 3),
            ("ceil (0 - batch / 2)", -3),
            ("batch / 2 * 2", 6),
            ("min(i, batch, 2) + max(i, batch)", 9),
            ("ceil(min(i / 2, batch / 2))", 2),
        ] {
            assert_eq!(value(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for (text, told) in [
            ("", "`` is incomplete"),
            ("i +", "`i +` is incomplete"),
            ("i i", "unexpected `i` in `i i`"),
            ("$", "unexpected `$` in `$`"),
            ("j + 1", "`j` in `j + 1` is not an index"),
            ("9000000 TB * 1000", "exceeds 64 bits"),
            ("4 furlongs", "`4 furlongs` is not a whole number of bytes"),
            ("ceil(i", "`ceil(i` is incomplete"),
            ("ceil(i, 2)", "unexpected `,` in `ceil(i, 2)`"),
            ("ceil(i / 2 % 2)", "takes the remainder of a fraction"),
            ("0.5", "`0.5` is not a whole number of bytes"),
            (&"(".repeat(1_000_000), "parentheses are nested more than 64 deep"),
        ] {
            let error = value(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn braces_become_numbers() {
        let indices = vec![("i".to_owned(), 5)];
        let name = |text: &str| filled_in(Part::new(text, &(0..text.len())), &indices);
        assert_eq!(name("ring{i % 2}").ok().as_deref(), Some("ring1"));
        assert_eq!(name("{i}-{i * 2}").ok().as_deref(), Some("5-10"));
        assert_eq!(name("plain").ok().as_deref(), Some("plain"));
        assert!(name("ring{i % 2").is_err());
        assert!(name(" ").is_err());
    }
}
