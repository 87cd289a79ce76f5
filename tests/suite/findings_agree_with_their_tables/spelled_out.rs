//! Programs that are drawn in families: of each it is known beforehand which leave the same
//! results, which use the GPU and which are equal.

use super::super::any_program_is_read::{around, drawn::drawn};
use super::super::workloads::{ON_DEVICE, ON_HOST, PINNED, floats, head, read};
use super::asked::{Asked, Fact, Known};
use hallway::program::{ProcessState, check_hazards};
use hallway::scenario::{Home, Tasks};
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// A scenario as it grows.
struct Draft<'r> {
    random: &'r mut ChaCha8Rng,
    bytes: u64,
    text: String,
    known: Known,
    groups: Vec<Vec<String>>,
    /// What a launch of either kernel takes.
    kernel_ns: [u64; 2],
    has_range: bool,
}

/// What a program leaves, of those that are drawn here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leaves {
    /// `y` from `x` through the first kernel.
    First,
    /// `y` from `x` through the second kernel.
    Second,
    /// `y` from `x` through both kernels.
    Chained,
    /// `x` in the device's memory.
    Uploaded,
    /// The device's `state` in `y`.
    Downloaded,
}

const ALL: [Leaves; 5] =
    [Leaves::First, Leaves::Second, Leaves::Chained, Leaves::Uploaded, Leaves::Downloaded];

pub(super) fn drawn_programs(count: usize) -> Vec<Asked> {
    let mut random = ChaCha8Rng::seed_from_u64(13);
    (0..count).map(|at| scenario(at, &mut random)).collect()
}

fn scenario(at: usize, random: &mut ChaCha8Rng) -> Asked {
    let elements = 10_f64.powf(random.random_range(3.0..6.3)) as u64 / 4 * 4;
    let runs: u64 = *[1, 10, 100, 5_000].choose(random).expect("some");
    let kernel_ns = [0, 1].map(|_| 10_f64.powf(random.random_range(3.0..8.5)) as u64);
    let host = *[ON_HOST, PINNED].choose(random).expect("some");
    let process = *["", "", "[process]\nstate = \"running\"", "[process]\nstate = \"new\""]
        .choose(random)
        .expect("some");
    let has_range = random.random_bool(0.3);
    let range = if has_range { ", range = \"10%\"" } else { "" };
    let mut text = head(&format!("programs-{at}"), &format!("runs = {runs}\n{process}"));
    text += &(floats(["x", "y"], elements, host) + &floats(["state"], elements, ON_DEVICE));
    for (name, ns) in ["first", "second"].iter().zip(kernel_ns) {
        let cpu = random.random_range(0.1..20.0) * ns as f64;
        text += &format!(
            "[[kernel]]\nname = \"{name}\"\nstated = {{ fixed = \"{ns} ns\"{range} }}\n\
             cpu = {{ stated = {{ fixed = \"{cpu:.0} ns\" }} }}\n"
        );
    }
    let is_pinned = host == PINNED;
    let (groups, bytes) = (Vec::new(), 4 * elements);
    let known = Known { is_home_on_device: true, ..Known::default() };
    let mut draft = Draft { random, bytes, text, known, groups, kernel_ns, has_range };
    let wanted: Vec<Leaves> = {
        let count = draft.random.random_range(1..=3);
        ALL.sample(draft.random, count).copied().collect()
    };
    for leaves in wanted {
        draft.programs(leaves, is_pinned);
    }
    draft.uses_everything();
    let Draft { text, mut known, groups, .. } = draft;
    let workload = read(&text);
    known.groups = Some(groups);
    // Data at home on the device was brought there, unless the scenario says that the process is
    // new.
    known.is_new = Some(process.contains("new"));
    Asked { workload, known, sizes: false }
}

impl Draft<'_> {
    /// One to three programs that leave this.
    fn programs(&mut self, leaves: Leaves, is_pinned: bool) {
        let mut names = Vec::new();
        let name = |way: &str| format!("{leaves:?}, {way}");
        let plain = self.calls(leaves, false);
        names.push(self.add(name("plain"), leaves, &plain));
        if self.random.random_bool(0.5) {
            names.push(self.add(name("again"), leaves, &plain));
            self.known.equal.push([names[0].clone(), names[1].clone()]);
        }
        if self.random.random_bool(0.6) && leaves != Leaves::Downloaded {
            let halves = self.calls(leaves, true);
            names.push(self.add(name("in halves"), leaves, &halves));
        }
        if self.random.random_bool(0.5) && !is_pinned {
            let pinned = format!("setup = [{{ pin = \"x\" }}, {{ pin = \"y\" }}]\n{plain}");
            names.push(self.add(name("pinned"), leaves, &pinned));
        }
        let kernel = match leaves {
            Leaves::First => Some("first"),
            Leaves::Second => Some("second"),
            _ => None,
        };
        if let Some(kernel) = kernel.filter(|_| self.random.random_bool(0.6)) {
            let name = name("on the CPU");
            self.text += &format!(
                "[[program]]\nname = \"{name}\"\ncalls = [{{ compute = \"{kernel}\", \
                 reads = [\"x\"], writes = [\"y\"], elements = 1 }}]\n"
            );
            self.known.on_cpu.push(name.clone());
            names.push(name);
        }
        self.groups.push(names);
    }

    /// A buffer or a kernel that nobody uses is a mistake.
    fn uses_everything(&mut self) {
        let body = "calls = [
            { copy = \"x\", to = \"state\", stream = \"s\" },
            { launch = \"first\", reads = [\"state\"], writes = [\"state\"], elements = 1, \
              stream = \"s\" },
            { launch = \"second\", reads = [\"state\"], writes = [\"state\"], elements = 1, \
              stream = \"s\" },
            { copy = \"state\", to = \"y\", stream = \"s\" },
            { synchronize = \"s\" },
        ]\n";
        let least_ns = self.kernel_ns.iter().sum();
        let name = self.named("everything".to_owned(), true, least_ns, body);
        // What it leaves in `state` it reads again: it leaves what both kernels leave in turn.
        match self.groups.iter_mut().find(|group| group[0].starts_with("Chained")) {
            Some(group) => group.push(name),
            None => self.groups.push(vec![name]),
        }
    }

    fn add(&mut self, name: String, leaves: Leaves, body: &str) -> String {
        let [first, second] = self.kernel_ns;
        let (launches, least_ns) = match leaves {
            Leaves::First => (true, first),
            Leaves::Second => (true, second),
            Leaves::Chained => (true, first + second),
            Leaves::Uploaded | Leaves::Downloaded => (false, 0),
        };
        self.named(name, launches, least_ns, body)
    }

    fn named(&mut self, name: String, launches: bool, least_ns: u64, body: &str) -> String {
        self.text += &format!("[[program]]\nname = \"{name}\"\n{body}");
        let never_bound_by = if launches { vec![] } else { vec!["kernels"] };
        let is_stated_alone = launches && !self.has_range;
        // A range of 10% may go below what is stated.
        let least_ns = if self.has_range { 0 } else { least_ns };
        self.known.facts.push(Fact {
            program: name.clone(),
            least_ns,
            never_bound_by,
            is_stated_alone,
        });
        name
    }

    /// The calls of a program, with its copies whole or in halves.
    fn calls(&mut self, leaves: Leaves, in_halves: bool) -> String {
        let (bytes, half) = (self.bytes, self.bytes / 2);
        let copy = |from: &str, to: &str| {
            if in_halves {
                format!(
                    "{{ copy = \"{from}[0..{half} B]\", to = \"{to}[0..{half} B]\", \
                     stream = \"s\" }},\n\
                     {{ copy = \"{from}[{half} B..{bytes} B]\", \
                     to = \"{to}[{half} B..{bytes} B]\", stream = \"s\" }},\n"
                )
            } else {
                format!("{{ copy = \"{from}\", to = \"{to}\", stream = \"s\" }},\n")
            }
        };
        let launch = |kernel: &str, from: &str, to: &str| {
            format!(
                "{{ launch = \"{kernel}\", reads = [\"{from}\"], writes = [\"{to}\"], \
                 elements = 1, stream = \"s\" }},\n"
            )
        };
        let work = match leaves {
            Leaves::First => copy("x", "d") + &launch("first", "d", "e") + &copy("e", "y"),
            Leaves::Second => copy("x", "d") + &launch("second", "d", "e") + &copy("e", "y"),
            Leaves::Chained => {
                let both = launch("first", "d", "e") + &launch("second", "e", "d");
                copy("x", "d") + &both + &copy("d", "y")
            }
            Leaves::Uploaded => copy("x", "state"),
            Leaves::Downloaded => copy("state", "y"),
        };
        let own = match leaves {
            Leaves::Uploaded | Leaves::Downloaded => String::new(),
            _ => ["d", "e"]
                .map(|name| {
                    format!("{{ name = \"{name}\", kind = \"device\", size = \"{bytes} B\" }}")
                })
                .join(", "),
        };
        let memory = if own.is_empty() { own } else { format!("memory = [{own}]\n") };
        format!("{memory}calls = [\n{work}{{ synchronize = \"s\" }},\n]\n")
    }
}

/// Random calls in random streams, twice over.
pub(super) fn drawn_calls(count: usize) -> Vec<Asked> {
    let programs = (1_000..).map(drawn).filter(|program| {
        program.devices() == 1 && check_hazards(program).is_ok() && program.body.len() <= 60
    });
    let asked = |program: hallway::program::Program| {
        let mut again = program.clone();
        again.label = format!("{} again", program.label);
        let names = [program.label.clone(), again.label.clone()];
        let mut workload = around(&program);
        workload.name.clone_from(&program.label);
        (workload.tasks, workload.programs) = (Tasks::default(), vec![program, again]);
        let known = Known {
            is_home_on_device: workload.buffers.iter().any(|one| one.home == Home::Device),
            is_new: Some(workload.process.state == ProcessState::New),
            equal: vec![names],
            uses_default_stream: true,
            ..Known::default()
        };
        Asked { workload, known, sizes: false }
    };
    programs.map(asked).take(count).collect()
}
