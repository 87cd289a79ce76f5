use hallway::{
    profile::Profile, samples::Samples, scenario::Workload, search::candidates,
    simulate::forecast_all, stats::median,
};
use std::path::PathBuf;
fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap());
    let profile = Profile::load(&folder.join("profile.toml")).unwrap();
    let samples = Samples::load(&folder.join("samples.jsonl")).unwrap();
    for trial in &samples.trials {
        if trial.plan != "cpu" {
            continue;
        }
        let workload = Workload::from_toml("t", &trial.scenario).unwrap();
        let programs = candidates(&workload).programs();
        let Some(p) = programs.into_iter().find(|p| p.label == trial.plan) else { continue };
        let f = forecast_all(&[p], &profile, 100, 1).remove(0).unwrap();
        let (lo, hi) = f.interval();
        let n = trial.in_first.unwrap_or(trial.passes.len() / 2);
        let m = |s: &[hallway::units::Span]| {
            median(&s.iter().map(|x| x.nanos_f64()).collect::<Vec<_>>()).unwrap()
        };
        let (a, b) = (m(&trial.passes[..n]), m(&trial.passes[n..]));
        let t = f.makespan().nanos_f64();
        let what: Vec<String> =
            workload.tasks.iter().map(|t| format!("{:?}", t.kernel.name())).collect();
        println!(
            "{:>8.1} us  {:+.3} {:+.3}  [{:+.3} {:+.3}] b{} n{} {}",
            t / 1e3,
            (a / t).ln(),
            (b / t).ln(),
            (lo.nanos_f64() / t).ln(),
            (hi.nanos_f64() / t).ln(),
            workload.batches,
            workload.buffers[0].elements,
            what.join(" ")
        );
    }
}
