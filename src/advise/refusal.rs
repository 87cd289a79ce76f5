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
        NoWait = "the host does not wait before the end",
        WaitsAreNeeded = "the host uses the data right after each wait",
        NothingTaken = "no call in the pass is known to allocate, reallocate or pin memory",
        NothingRepeated = "no copy transfers bytes that are already there, and all results are \
                           used",
        BytesDiffer = "the copied bytes differ from pass to pass",
        NoRunOfCopies = "there are no consecutive small copies",
        AllIsRead = "every copied byte is used, as far as is known",
        FewResults = "a pass has fewer than two small copies to the host",
        NotUsedOnce = "there is no copy to or from pinned memory whose data is used by exactly \
                       one kernel with known code",
        NoManagedMemory = "the program uses no managed memory",
        PagesAreThere = "managed memory is not used alternately by the host and by kernels",
        NoUpload = "nothing is copied to the GPU",
        NoDownload = "nothing is copied to the host",
        NoKernel = "there is no kernel to overlap with",
        NothingBeside = "there is no kernel, and no copy the other way, to overlap with",
        NoSuchPlan = "there is no such plan for these tasks on this machine",
        OnlyWaits = "gains no more than deferring waits does",
        TakenInEachPass = "the target memory is allocated in every pass: reuse it first",
        StillRead = "kernels read what earlier passes left in the buffer, so a second buffer \
                     cannot replace it",
        NotCut = "the kernels are not known to be splittable",
        NoSequence = "no stream has a copy to the GPU followed by kernels and a copy back",
        FewOperations = "there are fewer than two copies or kernels",
        InSeveralStreams = "copies and kernels are in several streams already",
        PrefetchesPages = "kernels depend on a prefetch of managed memory in their stream",
        NoneIndependent = "every copy or kernel needs the data of the one before it",
        NoRunOfLaunches = "there are no consecutive calls that a graph can contain",
        SeveralThreads = "several host threads make calls",
        SeveralGpus = "the program uses several GPUs",
        HasGraphs = "some calls are already in graphs",
        TooLong = "the program is too long to analyse",
        NotProved = "the rewritten program could not be proved equivalent",
        NotPredicted = "the profile lacks the times needed to predict it",
    }
}
