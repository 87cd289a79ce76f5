//! The pipeline in nexosim: one model a server, each connected to the next.
//!
//! Arguments: chunks, then the three service times in nanoseconds. Prints the
//! makespan in nanoseconds and the seconds of the fastest run.

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::Output;
use nexosim::simulation::{Mailbox, SimInit, Simulation};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const RUNS: usize = 5;

#[derive(Serialize, Deserialize)]
struct Server {
    service: Duration,
    /// Chunks here, in order of arrival; the first is being served.
    chunks: VecDeque<u32>,
    served: Output<u32>,
}

#[Model]
impl Server {
    fn new(service: u64, chunks: VecDeque<u32>) -> Self {
        Self { service: Duration::from_nanos(service), chunks, served: Output::default() }
    }

    #[nexosim(init)]
    async fn init(&mut self, context: &Context<Self>) {
        if !self.chunks.is_empty() {
            self.serve(context);
        }
    }

    fn arrive(&mut self, chunk: u32, context: &Context<Self>) {
        self.chunks.push_back(chunk);
        if self.chunks.len() == 1 {
            self.serve(context);
        }
    }

    fn serve(&self, context: &Context<Self>) {
        let end = context.schedule_event(self.service, schedulable!(Self::finish), ());
        end.expect("a service takes some time");
    }

    #[nexosim(schedulable)]
    async fn finish(&mut self, _: (), context: &Context<Self>) {
        let chunk = self.chunks.pop_front().expect("one was being served");
        if !self.chunks.is_empty() {
            self.serve(context);
        }
        self.served.send(chunk).await;
    }
}

fn main() {
    let arguments = std::env::args().skip(1);
    let numbers: Vec<u64> = arguments.map(|text| text.parse().expect("a whole number")).collect();
    let [chunks, copy_in, kernel, copy_out] = numbers[..] else {
        panic!("four numbers: chunks and three service times");
    };
    let (mut makespan, mut best) = (0, f64::INFINITY);
    for _ in 0..RUNS {
        let mut simulation = pipeline(chunks, [copy_in, kernel, copy_out]);
        let start = Instant::now();
        simulation.run().expect("nothing can fail");
        best = best.min(start.elapsed().as_secs_f64());
        makespan = simulation.time().duration_since(MonotonicTime::EPOCH).as_nanos();
    }
    println!("{makespan} {best}");
}

fn pipeline(chunks: u64, [copy_in, kernel, copy_out]: [u64; 3]) -> Simulation {
    let chunks = u32::try_from(chunks).expect("fewer chunks");
    let mut inward = Server::new(copy_in, (0..chunks).collect());
    let mut compute = Server::new(kernel, VecDeque::new());
    let outward = Server::new(copy_out, VecDeque::new());
    let [inward_mailbox, compute_mailbox, outward_mailbox] = [(); 3].map(|()| Mailbox::new());
    inward.served.connect(Server::arrive, &compute_mailbox);
    compute.served.connect(Server::arrive, &outward_mailbox);
    // One thread is the fastest here: hardly two events share an instant.
    SimInit::with_num_threads(1)
        .add_model(inward, inward_mailbox, "H2D")
        .add_model(compute, compute_mailbox, "kernel")
        .add_model(outward, outward_mailbox, "D2H")
        .init(MonotonicTime::EPOCH)
        .expect("the models are connected")
}
