//! Whole-number expressions in the names and byte ranges of calls: `i * 32 MiB`, `ring{i % 2}`.

use crate::files::Fault;
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

    pub const fn with(self, text: &'t str) -> Self {
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
/// loops, `+ - * / %` and parentheses. Division drops the rest.
pub(super) fn evaluate(part: Part<'_>, indices: &Indices) -> Result<i64, Fault> {
    let mut reader = Reader { part, rest: part.text, indices, depth: 0 };
    let value = reader.sum()?;
    reader.skip_spaces();
    if reader.rest.is_empty() { Ok(value) } else { Err(reader.unexpected()) }
}

/// A name in which every `{expression}` has become its value.
pub(super) fn filled_in(part: Part<'_>, indices: &Indices) -> Result<String, Fault> {
    let mut name = String::new();
    let mut rest = part.text;
    while let Some((before, inside)) = rest.split_once('{') {
        let Some((inside, after)) = inside.split_once('}') else {
            let message = format!("`{}` opens a brace and does not close it", part.text);
            return Err(part.fault(message, "no `}` follows", "write `ring{i % 2}`"));
        };
        name += before;
        name += &evaluate(part.with(inside), indices)?.to_string();
        rest = after;
    }
    name += rest;
    if name.trim().is_empty() {
        return Err(part.fault("a name is empty".to_owned(), "no name", "write one, such as `d`"));
    }
    Ok(name)
}

/// Reads an expression from left to right (recursive descent).
struct Reader<'t, 'i> {
    part: Part<'t>,
    rest: &'t str,
    indices: &'i Indices,
    /// How many parentheses are open.
    depth: usize,
}

/// More parentheses inside each other than anybody writes, and few enough for the stack.
const DEEPEST: usize = 64;

impl<'t> Reader<'t, '_> {
    fn sum(&mut self) -> Result<i64, Fault> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator(&['+', '-']) {
            let next = self.product()?;
            let sum =
                if operator == '+' { value.checked_add(next) } else { value.checked_sub(next) };
            value = sum.ok_or_else(|| self.too_large())?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i64, Fault> {
        let mut value = self.factor()?;
        while let Some(operator) = self.operator(&['*', '/', '%']) {
            let next = self.factor()?;
            if next == 0 && operator != '*' {
                let message = format!("`{}` divides by 0", self.part.text);
                return Err(self.part.fault(message, "division by 0", "divide by another number"));
            }
            let product = match operator {
                '*' => value.checked_mul(next),
                '/' => value.checked_div(next),
                _ => value.checked_rem(next),
            };
            value = product.ok_or_else(|| self.too_large())?;
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<i64, Fault> {
        self.skip_spaces();
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            self.depth += 1;
            if self.depth > DEEPEST {
                let message = format!("more than {DEEPEST} parentheses stand inside each other");
                return Err(self.part.fault(message, "too deep", "write it with fewer"));
            }
            let value = self.sum()?;
            self.depth -= 1;
            return match self.operator(&[')']) {
                Some(_) => Ok(value),
                None => Err(self.unexpected()),
            };
        }
        if self.rest.starts_with(|first: char| first.is_ascii_digit()) {
            return self.amount();
        }
        let name = self.take(|letter| letter.is_alphanumeric() || letter == '_');
        if name.is_empty() {
            return Err(self.unexpected());
        }
        let found = self.indices.iter().rev().find(|(index, _)| index == name);
        found.map(|&(_, value)| value).ok_or_else(|| self.no_index(name))
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
            let message = format!("`{read}` is no whole number of bytes");
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
            Some(found) => format!("`{found}` is not expected in `{text}`"),
            None => format!("`{text}` ends too early"),
        };
        let help = "write whole numbers, amounts such as `32 MiB`, indices of `repeat`, + - * / % \
                    and parentheses";
        self.part.fault(message, "not an expression", help)
    }

    fn too_large(&self) -> Fault {
        let message = format!("`{}` goes beyond 64 bits", self.part.text);
        self.part.fault(message, "too large", "no memory has so many bytes: use less")
    }

    fn no_index(&self, name: &str) -> Fault {
        let message =
            format!("`{name}` in `{}` is no index of a `repeat` around it", self.part.text);
        let known: Vec<String> =
            self.indices.iter().map(|(index, _)| format!("`{index}`")).collect();
        let help = match known.as_slice() {
            [] => "name one: `repeat = 10, index = \"i\"`".to_owned(),
            known => format!("there is {}", known.join(", ")),
        };
        self.part.fault(message, "unknown index", help)
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
        ] {
            assert_eq!(value(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for (text, told) in [
            ("", "ends too early"),
            ("i +", "ends too early"),
            ("(i", "ends too early"),
            ("i i", "`i` is not expected"),
            ("$", "`$` is not expected"),
            ("j + 1", "`j` in `j + 1` is no index"),
            ("4 / (i - 3)", "divides by 0"),
            ("9000000 TB * 1000", "beyond 64 bits"),
            ("4 furlongs", "`4 furlongs` is no whole number of bytes"),
            ("0.5", "`0.5` is no whole number of bytes"),
            (&"(".repeat(1_000_000), "more than 64 parentheses"),
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
