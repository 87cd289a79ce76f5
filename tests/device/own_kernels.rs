//! Kernels of a scenario's own: compiled, loaded, measured in a process of their own, and run.

use super::{download, on_a_gpu, random, upload};
use hallway::calibrate::{LibraryJob, OwnJob, ScenarioJob, measure_own};
use hallway::execute::{Effort, Executor};
use hallway::gpu::{AnyDevice, AnyMemory, AnyStream, Device, GpuError};
use hallway::host::Team;
use hallway::kernels::{
    Code, CpuSide, Geometry, GpuSide, Image, Kernel, OwnKernel, Parameter, ProductType, Variant,
};
use hallway::samples::{OwnRun, Quantity};
use hallway::scenario::Workload;
use hallway::units::Bytes;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/kernels")
}

fn code(image: Image, file: &str, entry: &str) -> OwnKernel {
    let (file, entry, rule) = (file.to_owned(), entry.to_owned(), String::new());
    let gpu = GpuSide::Code(Code { file, image, entry });
    OwnKernel { name: "k".to_owned(), gpu, cpu: CpuSide::Unknown, rule, elementwise: None }
}

fn source(text: &str, entry: &str) -> OwnKernel {
    code(Image::Source { text: text.to_owned(), headers: Vec::new() }, "mine.cu", entry)
}

const LINE: Geometry = Geometry { grid: [4, 1, 1], block: [256, 1, 1], shared_bytes: 0 };

fn triad(kernel: &OwnKernel, device: &Device) -> Result<(), GpuError> {
    let (x, y) = (random(1000, 1), random(1000, 2));
    let stream = device.stream(0)?;
    let [dx, dy] = [upload(device, &stream, &x)?, upload(device, &stream, &y)?];
    let out = upload(device, &stream, &vec![0.0; 1000])?;
    let parameters = [
        Parameter::Reads(0),
        Parameter::Reads(1),
        Parameter::Writes(0),
        Parameter::U32(1000),
        Parameter::F32(0.5),
    ];
    let memory = [&[dx.address(), dy.address()][..], &[out.address()]];
    let launch = device.own_kernel(kernel, (Some(LINE), &parameters), memory, None)?;
    let [registers, _] = launch.takes()?;
    assert!((1..=255).contains(&registers), "{registers} registers");
    // SAFETY: the arrays are as long as the launch is told.
    unsafe { stream.launch(&launch)? };
    for (at, value) in download(&stream, &out, 1000)?.into_iter().enumerate() {
        assert_eq!(value, x[at].mul_add(0.5, y[at]), "element {at}");
    }
    Ok(())
}

#[test]
fn ptx_a_cubin_and_source_compute_the_same() {
    on_a_gpu("ptx_a_cubin_and_source_compute_the_same", |device| {
        let ptx = std::fs::read_to_string(scenarios().join("triad.ptx")).expect("readable");
        triad(&code(Image::Ptx(ptx), "triad.ptx", "triad"), device)?;
        let text = "template <int N> __global__ void t(const float* x, const float* y,\n\
                    float* out, unsigned n, float a) {\n\
                    unsigned i = blockIdx.x * N + threadIdx.x;\n\
                    if (i < n) out[i] = fmaf(a, x[i], y[i]);\n}\n";
        triad(&source(text, "t<256>"), device)?;
        // The cubin is of one architecture.
        if device.describe()?.compute_capability == "9.0" {
            let cubin = std::fs::read(scenarios().join("triad.cubin")).expect("readable");
            triad(&code(Image::Cubin(Image::digits_of(&cubin)), "triad.cubin", "triad"), device)?;
        }
        Ok(())
    });
}

#[test]
fn code_that_cannot_be_loaded_says_where_and_why() {
    on_a_gpu("code_that_cannot_be_loaded_says_where_and_why", |device| {
        let error = |kernel: &OwnKernel, geometry| {
            let made = device.own_kernel(kernel, (Some(geometry), &[]), [&[], &[]], None);
            made.err().expect("it cannot").to_string()
        };
        let missing = source("__global__ void k() {\n  int i = nothing;\n}\n", "k");
        let told = error(&missing, LINE);
        if told.contains("NVRTC was not found") {
            return Err(GpuError::NoCompiler);
        }
        assert!(told.contains("mine.cu(2)") && told.contains("nothing"), "{told}");
        let told = error(&source("__global__ void k() {}\n", "q"), LINE);
        assert!(told.contains('q'), "{told}");
        let ptx = code(Image::Ptx("not PTX".to_owned()), "a.ptx", "k");
        assert!(error(&ptx, LINE).contains("kernel `k` of a.ptx cannot be loaded"));
        let bounded = "__global__ void __launch_bounds__(64) k() {}\n";
        let wide = Geometry { block: [1024, 1, 1], ..LINE };
        let told = error(&source(bounded, "k"), wide);
        assert!(told.contains("per thread limit it to 64"), "{told}");
        Ok(())
    });
}

#[test]
fn launches_and_products_are_measured() {
    on_a_gpu("launches_and_products_are_measured", |device| {
        let spin = "__global__ void k(float* x, long long cycles) {\n\
                    long long start = clock64();\n while (clock64() - start < cycles) {}\n\
                    x[threadIdx.x] = 1.0f; }\n";
        let job = |cycles| OwnJob {
            kernel: source(spin, "k"),
            memory: vec![Bytes::mib(1)],
            reads: vec![],
            writes: vec![(0, Bytes::ZERO)],
            elements: 1,
            numbers: String::new(),
            geometry: Some(LINE),
            parameters: vec![Parameter::Writes(0), Parameter::I64(cycles)],
            shape: None,
        };
        let each = |job: &OwnJob| {
            let measured = measure_own(device, job).expect("it runs");
            let many = measured.last().expect("two counts");
            let mut times = many.times.clone();
            times.sort_unstable();
            let Quantity::Own(OwnRun::Kernel { registers_per_thread, .. }) = many.quantity else {
                panic!("{:?}", many.quantity)
            };
            (times[times.len() / 2].nanos_f64() / many.count as f64, registers_per_thread)
        };
        let ((short, registers), (long, _)) = (each(&job(20_000)), each(&job(200_000)));
        assert!((5.0..20.0).contains(&(long / short)), "{short} and {long} ns");
        assert!(registers > 0);
        let product = OwnKernel {
            name: "matmul bf16".to_owned(),
            gpu: GpuSide::Product(ProductType::Bf16),
            cpu: CpuSide::Unknown,
            rule: String::new(),
            elementwise: None,
        };
        let product = OwnJob {
            kernel: product,
            memory: vec![Bytes::mib(8), Bytes::mib(4), Bytes::mib(2)],
            reads: vec![(0, Bytes::ZERO), (1, Bytes::ZERO)],
            writes: vec![(2, Bytes::ZERO)],
            elements: 2048 * 512,
            numbers: "columns = 512, inner = 2048, rows = 2048".to_owned(),
            geometry: None,
            parameters: vec![],
            shape: Some([2048, 2048, 512]),
        };
        match measure_own(device, &product) {
            Ok(measured) => assert_eq!(measured.len(), 2),
            Err(error) => assert!(error.to_string().contains("cuBLAS was not found"), "{error}"),
        }
        Ok(())
    });
}

/// Bands of the picture on two streams, and compiled kernels, come to what they do in turn.
#[test]
fn shipped_programs_with_own_kernels_run_and_are_checked() {
    on_a_gpu("shipped_programs_with_own_kernels_run_and_are_checked", |device| {
        let team = Team::new(4).expect("four threads");
        for file in ["tiled-blur.toml", "taps.toml"] {
            let workload = Workload::load(&scenarios().join(file)).expect("valid");
            let executor = Executor::new(Some(device), &team, &workload, 5);
            for program in &workload.programs {
                match executor.run(program, Effort::SHORT) {
                    Ok(run) => assert!(!run.passes_ns.is_empty()),
                    Err(error) => {
                        let error = error.to_string();
                        if error.contains("NVRTC was not found") {
                            return Err(GpuError::NoCompiler);
                        }
                        assert!(error.contains("can be predicted, but not run"), "{error}");
                    }
                }
            }
        }
        Ok(())
    });
}

/// A folder with a scenario of one kernel, and a profile that says it is of this machine.
fn prepared(name: &str, code: &str, device: &Device) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hallway-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let here = device.describe().expect("described").name;
    let h200 = Path::new(env!("CARGO_MANIFEST_DIR")).join("calibration/h200");
    for file in ["profile.toml", "samples.jsonl"] {
        let text = std::fs::read_to_string(h200.join(file)).expect("readable");
        std::fs::write(folder.join(file), text.replace("NVIDIA H200", &here)).expect("written");
    }
    std::fs::write(folder.join("k.cu"), code).expect("written");
    let text = "schema_version = 1\nname = \"w\"\nquestion = \"?\"\n[[buffer]]\nname = \"x\"\n\
                type = \"f32\"\nelements = 1024\nhome = \"host\"\n[[kernel]]\nname = \"k\"\n\
                source = \"k.cu\"\nentry = \"k\"\nwrites = [\"x\"]\nparameters = [\"x\"]\n\
                block = [256]\ngrid = [4]\n[[program]]\nname = \"p\"\nmemory = \
                [{ name = \"d\", kind = \"device\", size = \"4 KiB\" }]\ncalls = [\n\
                { copy = \"x\", to = \"d\" },\n\
                { launch = \"k\", reads = [], writes = [\"d\"], elements = 1024 },\n\
                { copy = \"d\", to = \"x\" },\n]\n";
    std::fs::write(folder.join("w.toml"), text).expect("written");
    folder
}

fn calibrated(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hallway"))
        .args(["calibrate", "--scenario", "w.toml", "--profile", ".", "--timeout", "15"])
        .current_dir(folder)
        .output()
        .expect("it runs")
}

#[test]
fn a_kernel_that_faults_or_never_ends_does_not_end_the_calibration_unsaid() {
    on_a_gpu("a_kernel_that_faults_or_never_ends_does_not_end_the_calibration_unsaid", |device| {
        for (name, code, told) in [
            ("fault", "__global__ void k(float* x) { x[1ull << 40] = 1.0f; }", "ILLEGAL_ADDRESS"),
            (
                "endless",
                "__global__ void k(volatile float* x) { while (x[0] < 2.0f) {} }",
                "did not finish within 15 s",
            ),
            ("typo", "__global__ void k(float* x) { x[0] = y; }", "k.cu(1)"),
        ] {
            let folder = prepared(name, code, device);
            let before = std::fs::read(folder.join("profile.toml")).expect("readable");
            let output = calibrated(&folder);
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            if errors.contains("NVRTC was not found") {
                return Err(GpuError::NoCompiler);
            }
            assert_eq!(output.status.code(), Some(4), "{name}: {errors}");
            assert!(errors.contains("kernel `k`") && errors.contains(told), "{name}: {errors}");
            assert_eq!(std::fs::read(folder.join("profile.toml")).expect("readable"), before);
            std::fs::remove_dir_all(&folder).expect("gone");
        }
        let folder = prepared("works", "__global__ void k(float* x) { x[0] = 1.0f; }", device);
        let output = calibrated(&folder);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.contains("`k` on the GPU, 1024"), "{said}{errors}");
        std::fs::remove_dir_all(&folder).expect("gone");
        Ok(())
    });
}

/// Every kernel of the library, at a size and with arguments that no calibration has.
#[test]
fn other_sizes_of_the_library_are_measured() {
    on_a_gpu("other_sizes_of_the_library_are_measured", |device| {
        for kernel in Kernel::ALL {
            if hallway::gpu::supports(kernel).is_err() {
                continue;
            }
            let extent = kernel.extent().map_or(0, |_| 96);
            let variant = Variant { kernel, extent };
            let elements = 96 * 96 * 96;
            let job = ScenarioJob::Library(LibraryJob { variant, elements, footprint: None });
            let measured = job.measure(device, 1).unwrap_or_else(|error| panic!("{error}"));
            let [few, many] = &measured[..] else { panic!("{measured:?}") };
            assert_eq!(few.quantity, many.quantity);
            assert!(few.count < many.count && few.times.iter().all(|time| time.nanos() > 0));
        }
        Ok(())
    });
}

/// Ten kernels of which only the time is known follow each other; then four of them run side by
/// side, as their grids leave room for.
#[test]
fn stand_ins_take_the_time_and_the_room_of_what_they_stand_for() {
    on_a_gpu("stand_ins_take_the_time_and_the_room_of_what_they_stand_for", |device| {
        let launch = |stream: usize| format!("{{ launch = \"k\", stream = \"s{stream}\" }},");
        let program = |name: &str, streams: usize, count: usize| {
            let calls: String = (0..count).map(|at| launch(at % streams)).collect();
            format!(
                "[[program]]\nname = \"{name}\"\ncalls = [{calls} {{ synchronize_device = 0 }}]\n"
            )
        };
        let text = format!(
            "schema_version = 1\nname = \"w\"\nquestion = \"?\"\n[[kernel]]\nname = \"k\"\n\
             stated = {{ fixed = \"200 us\" }}\ngrid = [8]\nblock = [256]\n{}{}",
            program("in turn", 1, 10),
            program("side by side", 4, 4)
        );
        let workload = Workload::from_toml("w.toml", &text).expect("valid");
        let team = Team::new(1).expect("a thread");
        let executor = Executor::new(Some(device), &team, &workload, 5);
        for (program, takes) in workload.programs.iter().zip([2_000.0, 200.0]) {
            let run = match executor.run(program, Effort::SHORT) {
                Err(error) if error.to_string().contains("NVRTC was not found") => {
                    return Err(GpuError::NoCompiler);
                }
                run => run.expect("it runs"),
            };
            let micros = run.makespan().nanos_f64() / 1e3;
            assert!((takes..takes * 1.1 + 30.0).contains(&micros), "{}: {micros}", program.label);
        }
        Ok(())
    });
}
