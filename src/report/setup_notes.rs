//! What is paid once, in words: set-up, pinning, first use, and from how many passes on it pays.

use super::assessed_plan::{AssessedPlan, PinningPrices, SPELLED_OUT};
use super::evaluation::Assessment;
use super::evaluation_text::time;
use super::verdict::CLEARLY;
use super::words::{count, plural};
use crate::units::Span;
use std::collections::BTreeSet;

impl Assessment {
    /// What is paid once, and from how many passes on it pays.
    pub(super) fn setup_notes(&self) -> Vec<String> {
        let notes = [
            self.program_note(),
            self.first_use_note(),
            self.reuse_note(),
            self.taking_note(),
            self.pinning_note(),
        ];
        notes.into_iter().flatten().collect()
    }

    /// Said only where set-up changes which plan to choose.
    pub(super) fn program_note(&self) -> Option<String> {
        let find = |name: &Option<String>| {
            let name = name.as_ref()?;
            self.plans.iter().find(|plan| plan.plan == *name)
        };
        let (best, of_pass) = (find(&self.program_winner)?, find(&self.winner)?);
        let [least, more] = [best, of_pass].map(|plan| plan.program_ns.map(Span::nanos_f64));
        // If the other side wins, the verdict says so.
        let matters = best.side == of_pass.side && least? < (1.0 - CLEARLY) * more?;
        (best.plan != of_pass.plan && matters).then(|| {
            format!(
                "A program of {} is fastest with `{}`: {} against {} with `{}`, whose set-up \
                 takes longer.",
                plural(self.runs, "run"),
                best.plan,
                time(best.program_ns),
                time(of_pass.program_ns),
                of_pass.plan
            )
        })
    }

    /// What pinning means in the best plan on the GPU, and what it costs otherwise.
    pub(super) fn pinning_note(&self) -> Option<String> {
        let PinningPrices { bytes, register_ns, allocate_ns, copy_ns, .. } =
            self.best_on_gpu()?.pinning.as_ref()?;
        let registered = (*register_ns)?;
        let instead = match (allocate_ns, copy_ns) {
            (Some(allocate), Some(copy)) => format!(
                "Allocating pinned memory instead takes {allocate}, and {copy} each time that it \
                 is filled or emptied."
            ),
            (Some(allocate), None) => format!(
                "Allocating pinned memory instead takes {allocate}, and filling it a copy that the \
                 profile does not know."
            ),
            (None, _) => "What new pinned memory costs, the profile does not know.".to_owned(),
        };
        Some(format!("Set-up pins {bytes} where they are, by registering: {registered}. {instead}"))
    }

    /// After how many passes pinning pays, in the best plan on the GPU and in every program that
    /// the scenario spells out.
    pub(super) fn reuse_note(&self) -> Option<String> {
        let best = self.best_on_gpu().map(|plan| &plan.plan);
        let is_meant = |one: &&AssessedPlan| one.family == SPELLED_OUT || Some(&one.plan) == best;
        let said = self.plans.iter().filter(is_meant).filter_map(|one| {
            let pinning = one.pinning.as_ref()?;
            let (costs, without) = (pinning.register_ns?, pinning.unpinned_pass_ns?);
            let (name, with) = (&one.plan, one.predicted_ns);
            let pays = match pinning.pays_from_runs {
                Some(1) => "it pays in the first pass".to_owned(),
                Some(from) => format!("it pays from {} passes on", count(from)),
                None => {
                    let saves = format!("without, a pass takes {without}");
                    return Some(format!("Pinning in `{name}` saves nothing: {saves}."));
                }
            };
            let saves = without.saturating_sub(with);
            Some(format!("Pinning in `{name}` costs {costs} and saves {saves} a pass: {pays}."))
        });
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| said.join(" "))
    }

    /// After how many passes memory pays that set-up takes, in the fastest plan of each family.
    pub(super) fn taking_note(&self) -> Option<String> {
        let mut families = BTreeSet::new();
        let said = self.plans.iter().filter_map(|one| {
            let taken = one.taken.as_ref()?;
            let (costs, without) = (taken.costs_ns?, taken.without_pass_ns?);
            if one.family == SPELLED_OUT || !families.insert(&one.family) {
                return None;
            }
            let (name, bytes, with) = (&one.plan, taken.bytes, one.predicted_ns);
            let takes = format!("Set-up of `{name}` takes {bytes} of host memory for {costs}");
            Some(match taken.pays_from_runs {
                Some(from) => {
                    let saves = without.saturating_sub(with);
                    let from = match from {
                        1 => "in the first pass".to_owned(),
                        from => format!("from {} passes on", count(from)),
                    };
                    format!("{takes} and saves {saves} a pass: it pays {from}.")
                }
                None => format!("{takes} and saves nothing: without, a pass takes {without}."),
            })
        });
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| said.join(" "))
    }

    /// What is missing from what a process pays.
    pub(super) fn first_use_note(&self) -> Option<String> {
        let unknown = self.plans.iter().any(|plan| plan.first_use_ns.is_none());
        let said = "Programs are without what a process pays to use the GPU or memory for the \
                    first time: the profile does not know all of it.";
        unknown.then(|| said.to_owned())
    }
}
