//! Why a remedy does not apply to a program.

use crate::units::words;
use serde::{Deserialize, Serialize};

words! {
    /// Why a remedy does not apply.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Refusal {
        NothingPageable = "no copy uses pageable memory that could be pinned",
        NoWait = "the host waits for nothing before the end",
        WaitsAreNeeded = "the host uses what it waits for, directly after each wait",
        NothingTaken = "no call is known that takes, renews or pins memory in the pass",
        AllIsRead = "calls use all bytes of each copy, as far as is known",
        NothingRepeated = "no copy brings bytes that are already there, and all results are used",
        BytesDiffer = "the bytes that are copied differ from pass to pass",
        NoRunOfCopies = "no small copies follow each other",
        FewResults = "there are no two small copies to the host in a pass",
        NotUsedOnce = "no kernel of known code is the only one to use a pinned copy",
        NoManagedMemory = "it uses no managed memory",
        PagesAreThere = "managed memory does not change sides between the host and kernels",
        NoUpload = "nothing is copied to the GPU",
        NoDownload = "nothing is copied to the host",
        NoKernel = "there is no kernel to overlap with",
        StillRead = "kernels read what is in that memory from before, so it has no second buffer",
        NotCut = "its kernels cannot be cut into pieces, as far as is known",
        NoSequence = "no copy to the GPU, kernels and copy back follow each other in one stream",
        NoRunOfLaunches = "no calls that a graph can contain follow each other",
        SeveralThreads = "several host threads make calls",
        SeveralGpus = "it uses several GPUs",
        HasGraphs = "some calls are in graphs already",
        TooLong = "the program is too long to work this out",
        NotProved = "the rewritten program could not be proved to do the same",
        NotPredicted = "the profile lacks the times for it",
    }
}
