//! Kernels of one's own: from their tables to values, and from a call to a launch.

use super::code::code;
use super::cost::{cost, cpu, elementwise, of_kernel};
use super::expression::{Indices, Part, evaluate_rule, names};
use super::names::{number, text};
use super::raw_kernel::{MOST_ELEMENTS, RawCpu, RawKernel};
use super::values::{Number, RawParameter};
use crate::files::{Fault, Spanned, unknown};
use crate::kernels::{CpuSide, Geometry, GpuSide, Kernel, OwnKernel, Parameter};
use crate::program::{OwnStep, Slice};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What messages and time lines call the CPU code of a whole scenario.
const CPU_CODE: &str = "your CPU code";

/// A kernel of a `[[kernel]]` table.
#[derive(Debug, Clone)]
pub struct DeclaredKernel {
    pub kernel: OwnKernel,
    /// The files that its code was read from.
    pub files: Vec<PathBuf>,
    pub(super) raw: RawKernel,
}

/// The kernel has its rules in itself, too.
impl PartialEq for DeclaredKernel {
    fn eq(&self, other: &Self) -> bool {
        self.kernel == other.kernel
    }
}

/// What a launch is about: the memory, and what it is launched with.
pub struct Launched<'l> {
    pub reads: Vec<Slice>,
    pub writes: Vec<Slice>,
    pub numbers: &'l BTreeMap<String, f64>,
    pub elements: u64,
    /// Where the file asks for it.
    pub place: Range<usize>,
}

impl DeclaredKernel {
    /// Reads a kernel and the files that it names, which lie relative to `folder`.
    ///
    /// # Errors
    /// The first mistake.
    pub fn new(raw: &RawKernel, folder: &Path) -> Result<Self, Fault> {
        let name = raw.name.get_ref().clone();
        if Kernel::from_name(&name).is_some() {
            let message = format!("the library already has a kernel named `{name}`");
            return Err(Fault::new(message, raw.name.span(), "taken", "choose another name"));
        }
        let of = of_kernel(&name);
        let known = cost(&of, raw.points.as_ref(), raw.roofline.as_ref(), raw.stated.as_ref())?;
        let (code, files) = code(raw, folder)?.unzip();
        let cpu = raw.cpu.as_ref().map_or(Ok(CpuSide::Unknown), |raw| cpu(&of, raw))?;
        let gpu = match (code, known) {
            (Some(_), Some((_, place))) => {
                let message = format!("kernel `{name}` has both code and a cost");
                let help = "remove the cost to have the code measured, or remove the code";
                return Err(Fault::new(message, place, "given twice", help));
            }
            (Some(code), None) => GpuSide::Code(code),
            (None, Some((cost, _))) => GpuSide::Cost(cost),
            (None, None) if cpu == CpuSide::Unknown => {
                let message = format!("kernel `{name}` has no cost");
                let help = "add `source`, `ptx` or `cubin`, or `points`, `roofline` or `stated`";
                return Err(Fault::new(message, raw.name.span(), "no cost", help));
            }
            (None, None) => GpuSide::Unknown,
        };
        let elementwise = elementwise(raw)?;
        let kernel = OwnKernel { name, gpu, cpu, rule: rule(raw), elementwise };
        let files = files.unwrap_or_default();
        let declared = Self { kernel, files, raw: raw.clone() };
        declared.check()?;
        Ok(declared)
    }

    /// The CPU code of a whole scenario, which its own `cpu` tells of.
    ///
    /// # Errors
    /// The first mistake.
    pub fn of_scenario(raw: &Spanned<RawCpu>) -> Result<Self, Fault> {
        let cpu = cpu("the scenario", raw)?;
        let raw = RawKernel::named(Spanned::new(raw.span(), CPU_CODE.to_owned()));
        let (gpu, rule) = (GpuSide::Unknown, rule(&raw));
        let kernel = OwnKernel { name: CPU_CODE.to_owned(), gpu, cpu, rule, elementwise: None };
        Ok(Self { kernel, files: Vec::new(), raw })
    }

    /// Checks what does not depend on a launch.
    fn check(&self) -> Result<(), Fault> {
        let Self { kernel: OwnKernel { name, gpu, .. }, raw, .. } = self;
        let has_code = matches!(gpu, GpuSide::Code(_));
        for (key, there) in [("block", raw.block.is_some()), ("grid", raw.grid.is_some())] {
            if has_code && !there {
                let message = format!("kernel `{name}` has no `{key}`");
                let help = match key {
                    "block" => "add, for example, `block = [256]`",
                    _ => "add, for example, `grid = [\"ceil(elements / 256)\"]`",
                };
                return Err(Fault::new(message, raw.name.span(), "incomplete", help));
            }
        }
        if raw.block.is_some() != raw.grid.is_some() {
            let message = format!("kernel `{name}` has only one of `block` and `grid`");
            return Err(Fault::new(message, raw.name.span(), "incomplete", "write both"));
        }
        if let (false, Some(stray)) = (has_code, raw.parameters.first()) {
            let message = format!("kernel `{name}` has `parameters` but no code");
            return Err(Fault::new(message, stray.span(), "no effect", "remove `parameters`"));
        }
        for sides in [&raw.block, &raw.grid].into_iter().flatten() {
            if !(1..=3).contains(&sides.get_ref().len()) {
                let count = sides.get_ref().len();
                let message =
                    format!("the `block` or `grid` of kernel `{name}` has {count} dimensions");
                let help = "write one number per dimension, for up to three dimensions";
                return Err(Fault::new(message, sides.span(), "must be one to three", help));
            }
        }
        for names in [&raw.reads, &raw.writes] {
            let mut seen = BTreeSet::new();
            if let Some(again) = names.iter().find(|name| !seen.insert(name.get_ref())) {
                let message = format!("kernel `{name}` lists `{again}` twice");
                return Err(Fault::new(message, again.span(), "again", "list each name once"));
            }
        }
        Ok(())
    }

    /// The launch on some memory. `at` is the kernel's place in the program's table.
    ///
    /// # Errors
    /// If no GPU can launch what the kernel's rules come to.
    pub fn launch(&self, at: usize, launched: Launched<'_>) -> Result<OwnStep, Fault> {
        let Launched { reads, writes, numbers, elements, place } = launched;
        let mut known: Indices = numbers
            .iter()
            .filter(|(_, value)| value.fract() == 0.0 && value.abs() < 9e15)
            .map(|(name, value)| (name.clone(), *value as i64))
            .collect();
        known.push(("elements".to_owned(), elements as i64));
        let rules = Rules { name: &self.kernel.name, numbers, known: &known, call: place };
        let geometry = self.geometry(&rules)?;
        let parameters = self.raw.parameters.iter().map(|one| self.parameter(one, &rules));
        let parameters = parameters.collect::<Result<_, _>>()?;
        let numbers = numbers.clone();
        Ok(OwnStep { kernel: at, reads, writes, elements, numbers, geometry, parameters })
    }

    /// Whether it says how many blocks it is launched with.
    pub const fn has_grid(&self) -> bool {
        self.raw.grid.is_some()
    }

    /// How many buffers it reads and writes, where it gives them names.
    pub fn named(&self) -> [Option<usize>; 2] {
        [&self.raw.reads, &self.raw.writes].map(|names| Some(names.len()).filter(|&n| n > 0))
    }

    /// The numbers of a launch, each of which a rule of the kernel must name.
    ///
    /// # Errors
    /// The first that no rule names, or that is no number.
    pub fn numbers<'a>(
        &self,
        arguments: impl Iterator<Item = (&'a Spanned<String>, &'a Spanned<f64>)>,
    ) -> Result<BTreeMap<String, f64>, Fault> {
        let Self { kernel: OwnKernel { name, .. }, raw, .. } = self;
        let mut rules: Vec<String> = Vec::new();
        for sides in [&raw.block, &raw.grid].into_iter().flatten() {
            rules.extend(sides.get_ref().iter().map(ToString::to_string));
        }
        rules.extend([&raw.shared, &raw.elements].into_iter().flatten().map(ToString::to_string));
        for parameter in &raw.parameters {
            if let RawParameter::Number(_, number) = parameter.get_ref() {
                rules.push(number.to_string());
            }
        }
        let mut numbers = BTreeMap::new();
        for (number, value) in arguments {
            if !rules.iter().any(|rule| names(rule, number.get_ref())) {
                let message = format!("kernel `{name}` has no argument `{number}`");
                let help = "remove it, or use it in the kernel's `grid`, `block`, `shared`, \
                            `elements` or `parameters`";
                return Err(Fault::new(message, number.span(), "unknown", help));
            }
            if !value.get_ref().is_finite() || number.get_ref() == "elements" {
                let message =
                    format!("kernel `{name}` cannot have the argument `{number} = {value}`");
                let help = "write a finite number; the number of elements is a key of the call, \
                            not an argument";
                return Err(Fault::new(message, value.span(), "not allowed", help));
            }
            numbers.insert(number.get_ref().clone(), *value.get_ref());
        }
        Ok(numbers)
    }

    /// How many elements a launch works on: as many as are given, or as the kernel's rule says.
    /// `None` if neither says it.
    ///
    /// # Errors
    /// If that is no number of elements.
    pub fn elements(
        &self,
        given: Option<&Spanned<i64>>,
        numbers: &BTreeMap<String, f64>,
        call: &Range<usize>,
    ) -> Result<Option<u64>, Fault> {
        let name = &self.kernel.name;
        let (place, elements) = match (given, &self.raw.elements) {
            (Some(elements), _) => (elements.span(), *elements.get_ref()),
            (None, Some(rule)) => {
                let known = numbers.iter().map(|(name, value)| (name.clone(), *value as i64));
                let known: Indices = known.collect();
                let rules = Rules { name, numbers, known: &known, call: call.clone() };
                (rule.span(), rules.whole(rule)?)
            }
            (None, None) => return Ok(None),
        };
        let within = (1..=MOST_ELEMENTS).contains(&elements);
        within.then_some(Some(elements as u64)).ok_or_else(|| {
            let message = format!("kernel `{name}` cannot work on {elements} elements");
            let help = format!("write a number from 1 to {MOST_ELEMENTS}");
            Fault::new(message, place, "out of range", help)
        })
    }

    fn geometry(&self, rules: &Rules<'_>) -> Result<Option<Geometry>, Fault> {
        let Some((block, grid)) = self.raw.block.as_ref().zip(self.raw.grid.as_ref()) else {
            return Ok(None);
        };
        let sides = |what: &str, raw: &Spanned<Vec<Spanned<Number>>>, most: [u32; 3]| {
            let mut sides = [1; 3];
            for (at, side) in raw.get_ref().iter().enumerate() {
                let found = rules.whole(side)?;
                let possible = 1..=i64::from(most[at]);
                let Some(fits) = Some(found).filter(|found| possible.contains(found)) else {
                    let (name, most) = (rules.name, most[at]);
                    let message =
                        format!("one dimension of the {what} of kernel `{name}` is {found}");
                    let help = format!(
                        "it must be between 1 and {most}: correct the kernel's expression or \
                         the call"
                    );
                    return Err(Fault::new(message, side.span(), "cannot be launched", help)
                        .and(rules.call.clone(), "by this call"));
                };
                sides[at] = fits as u32;
            }
            Ok(sides)
        };
        let shared = self.raw.shared.as_ref().map_or(Ok(0), |shared| {
            let found = rules.whole(shared)?;
            let most = Geometry::MOST_SHARED;
            u32::try_from(found).ok().filter(|&found| u64::from(found) <= most.get()).ok_or_else(
                || {
                    let message = format!("`shared` of kernel `{}` is {found} bytes", rules.name);
                    let help = format!("it must be between 0 and {most}");
                    Fault::new(message, shared.span(), "out of range", help)
                        .and(rules.call.clone(), "by this call")
                },
            )
        })?;
        let geometry = Geometry {
            grid: sides("`grid`", grid, Geometry::MOST_OF_GRID)?,
            block: sides("`block`", block, Geometry::MOST_OF_BLOCK)?,
            shared_bytes: shared,
        };
        match geometry.problem() {
            None => Ok(Some(geometry)),
            Some(problem) => {
                let message = format!("kernel `{}`: {problem}", rules.name);
                let help = "use a smaller block";
                Err(Fault::new(message, block.span(), "cannot be launched", help))
            }
        }
    }

    fn parameter(
        &self,
        raw: &Spanned<RawParameter>,
        rules: &Rules<'_>,
    ) -> Result<Parameter, Fault> {
        let (of, number) = match raw.get_ref() {
            RawParameter::Memory(name) => return self.memory(name, raw.span()),
            RawParameter::Number(of, number) => (of, number),
        };
        let beyond = |of: &str| {
            let message =
                format!("parameter `{number}` of kernel `{}` does not fit in {of}", rules.name);
            Fault::new(message, number.span(), "out of range", "use a wider type")
                .and(rules.call.clone(), "by this call")
        };
        Ok(match of.get_ref().as_str() {
            "i32" => Parameter::I32(rules.whole(number)?.try_into().map_err(|_| beyond("i32"))?),
            "u32" => Parameter::U32(rules.whole(number)?.try_into().map_err(|_| beyond("u32"))?),
            "i64" => Parameter::I64(rules.whole(number)?),
            "u64" => Parameter::U64(rules.whole(number)?.try_into().map_err(|_| beyond("u64"))?),
            "f32" => {
                let value = rules.real(number)? as f32;
                Parameter::F32(Some(value).filter(|v| v.is_finite()).ok_or_else(|| beyond("f32"))?)
            }
            "f64" => Parameter::F64(rules.real(number)?),
            other => {
                let all = ["i32", "u32", "i64", "u64", "f32", "f64"];
                return Err(unknown("parameter type", other, of.span(), &all));
            }
        })
    }

    /// The pointer of a name.
    fn memory(&self, name: &str, place: Range<usize>) -> Result<Parameter, Fault> {
        let at = |names: &[Spanned<String>]| names.iter().position(|one| one.get_ref() == name);
        let write = at(&self.raw.writes).map(Parameter::Writes);
        write.or_else(|| at(&self.raw.reads).map(Parameter::Reads)).ok_or_else(|| {
            let of = &self.kernel.name;
            let message =
                format!("parameter `{name}` of kernel `{of}` is not in its `reads` or `writes`");
            let help = "add it to the `reads` or `writes` of the kernel; numbers need a type: \
                        `{ i32 = \"columns\" }`";
            Fault::new(message, place, "unknown", help)
        })
    }
}

/// What rules of a kernel are applied to: the numbers of one launch.
struct Rules<'k> {
    name: &'k str,
    numbers: &'k BTreeMap<String, f64>,
    known: &'k Indices,
    call: Range<usize>,
}

impl Rules<'_> {
    fn whole(&self, number: &Spanned<Number>) -> Result<i64, Fault> {
        match number.get_ref() {
            Number::Value(value) if value.fract() == 0.0 && value.abs() < 9e15 => Ok(*value as i64),
            Number::Value(value) => {
                let message = format!("{value} in kernel `{}` is not a whole number", self.name);
                Err(Fault::new(message, number.span(), "not whole", "write a whole number"))
            }
            Number::Text(text) => {
                let value = evaluate_rule(Part::new(text, &number.span()), self.known);
                value.map_err(|fault| fault.and(self.call.clone(), "by this call"))
            }
        }
    }

    fn real(&self, number: &Spanned<Number>) -> Result<f64, Fault> {
        match number.get_ref() {
            Number::Value(value) => Ok(*value),
            Number::Text(text) => match self.numbers.get(text.trim()) {
                Some(value) => Ok(*value),
                None => self.whole(number).map(|value| value as f64),
            },
        }
    }
}

/// How launches follow from their numbers, as keys of a `[[kernel]]` table.
fn rule(raw: &RawKernel) -> String {
    let names = |all: &[Spanned<String>]| all.iter().map(|one| text(one.get_ref())).collect();
    let sides = |all: &Option<Spanned<Vec<Spanned<Number>>>>| {
        let all = all.iter().flat_map(|all| all.get_ref());
        all.map(|side| number(side.get_ref())).collect()
    };
    let parameter = |one: &Spanned<RawParameter>| match one.get_ref() {
        RawParameter::Memory(name) => text(name),
        RawParameter::Number(of, value) => format!("{{ {of} = {} }}", number(value.get_ref())),
    };
    let lists: [(&str, Vec<String>); 5] = [
        ("reads", names(&raw.reads)),
        ("writes", names(&raw.writes)),
        ("parameters", raw.parameters.iter().map(parameter).collect()),
        ("block", sides(&raw.block)),
        ("grid", sides(&raw.grid)),
    ];
    let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
    let lists = lists.map(|(key, items)| format!("{key} = [{}]\n", items.join(", ")));
    let single = [("shared", &raw.shared), ("elements", &raw.elements)];
    let single = single.into_iter().filter_map(|(key, value)| {
        let value = number(value.as_ref()?.get_ref());
        Some(format!("{key} = {value}\n"))
    });
    lists.chain(single).collect()
}
