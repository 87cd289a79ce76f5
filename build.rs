//! Compiles the library that records programs, which `hallway record` carries.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

const SOURCE: &str = "src/record/library.rs";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=src/record/library");
    if env::var_os("CARGO_FEATURE_CLI").is_none() {
        return;
    }
    let set = |name: &str| env::var_os(name).unwrap_or_else(|| fail(&format!("{name} is not set")));
    let output = PathBuf::from(set("OUT_DIR")).join("recorder.so");
    let mut rustc = Command::new(set("RUSTC"));
    rustc.args(["--crate-name", "recorder", "--crate-type", "cdylib", "--edition", "2024"]);
    // What only hallway's reader uses is not used in the library.
    rustc.args(["-O", "-C", "strip=symbols", "-C", "panic=unwind", "--cap-lints", "allow"]);
    rustc.arg("--target").arg(set("TARGET"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    rustc.arg("-o").arg(&output).arg(Path::new(&set("CARGO_MANIFEST_DIR")).join(SOURCE));
    match rustc.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("the library that records programs: rustc: {status}")),
        Err(error) => fail(&format!("the library that records programs: rustc: {error}")),
    }
}

fn fail(why: &str) -> ! {
    println!("cargo::error={why}");
    exit(1)
}
