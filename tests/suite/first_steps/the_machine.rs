//! `hallway doctor` says what a machine has, and `completions` what a shell needs.

use super::*;
use hallway::gpu::Device;
use serde_json::Value;

#[test]
fn is_described_line_by_line_with_or_without_a_gpu() {
    let output = ran(repository(), ["doctor"]);
    let text = stdout(&output);
    let code = output.status.code();
    match Device::count() {
        Ok(count) if count > 0 => assert!(code == Some(0) || code == Some(1), "{code:?}\n{text}"),
        _ => assert_eq!(code, Some(3), "{text}"),
    }
    assert_eq!(stderr(&output), "");
    for what in ["driver", "NVRTC", "CUPTI", "NVML", "cuBLAS", "cuFFT", "GPU"] {
        assert!(text.contains(what), "no {what} in\n{text}");
    }
    for what in [
        "host memory",
        "new pages",
        "malloc",
        "locked memory",
        "NUMA nodes",
        "CPU",
        "governor",
        "profile",
    ] {
        assert!(text.contains(what), "no {what} in\n{text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 120, "too wide: {line}");
    }
}

#[test]
fn that_lacks_something_is_told_what_that_costs_and_what_to_do() {
    let output = ran(repository(), ["doctor", "--format", "json"]);
    let found: Value = serde_json::from_str(stdout(&output)).expect("JSON");
    let findings = found["findings"].as_array().expect("a list");
    assert!(findings.len() >= 12, "{findings:?}");
    for finding in findings {
        let told = ["cost", "fix"].map(|key| finding[key].as_str().is_some_and(|t| !t.is_empty()));
        assert_eq!(told, [finding["state"] != "ok"; 2], "{finding}");
    }
    let is_missing = |finding: &Value| finding["state"] == "missing";
    assert_eq!(findings.iter().any(is_missing), output.status.code() != Some(0));
}

#[test]
fn has_shells_that_complete_commands_and_files() {
    for (shell, files) in [
        ("bash", "compgen -f"),
        ("zsh", "_files"),
        // A file is what fish completes by itself.
        ("fish", "__fish"),
    ] {
        let output = ran(repository(), ["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let script = stdout(&output);
        for word in ["evaluate", "doctor", "profile", "explain", files] {
            assert!(script.contains(word), "no `{word}` for {shell}");
        }
    }
    // A script that bash does not understand completes nothing.
    let script = ran(repository(), ["completions", "bash"]);
    let mut bash = Command::new("bash");
    let checked = bash.args(["-n", "-c", stdout(&script)]).output();
    assert!(checked.is_ok_and(|checked| checked.status.success()));
}
