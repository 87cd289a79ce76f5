//! What takes the place of the results of kernels that have no twin, where only the flow of data
//! counts.

use crate::kernels::OwnKernel;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A launch of a kernel that has no twin.
pub(super) struct Placeholder<'k> {
    pub kernel: &'k OwnKernel,
    pub elements: u64,
    /// The numbers of the launch.
    pub signature: String,
}

impl Placeholder<'_> {
    /// What it writes, so many bytes each: numbers that depend on the launch and on every byte of
    /// what it reads. Those of an element depend on the same element alone if the kernel says so.
    /// An `f32` is from 1 to 2, and a number of another type is finite.
    pub fn written(&self, reads: &[&[u8]], lengths: &[usize]) -> Vec<Vec<u8>> {
        let mut seed = DefaultHasher::new();
        (&self.kernel.name, &self.signature).hash(&mut seed);
        let elements = self.elements as usize;
        let along = self.kernel.elementwise.as_ref().map(|one| &one.reads);
        let is_along = |at: usize| along.is_some_and(|along| along.get(at) == Some(&true));
        let (along_reads, whole): (Vec<_>, Vec<_>) =
            reads.iter().enumerate().partition(|(at, _)| is_along(*at));
        let along_lengths = along_reads.iter().map(|(_, read)| read.len());
        let divides = |length: usize| length.is_multiple_of(elements);
        whole.into_iter().for_each(|(_, read)| add(read, &mut seed));
        if along.is_none() || !along_lengths.chain(lengths.iter().copied()).all(divides) {
            seed.write_u64(self.elements);
            along_reads.into_iter().for_each(|(_, read)| add(read, &mut seed));
            return lengths.iter().map(|&length| numbers(&mut seed, length)).collect();
        }
        let mut written: Vec<Vec<u8>> = lengths.iter().map(|_| Vec::new()).collect();
        let halo = self.kernel.elementwise.as_ref().map_or(0, |one| one.halo);
        for element in 0..elements {
            let mut own = seed.clone();
            for (_, read) in &along_reads {
                let size = read.len() / elements;
                for neighbour in neighbours(element, halo, elements) {
                    add(&read[neighbour * size..][..size], &mut own);
                }
            }
            for (into, length) in written.iter_mut().zip(lengths) {
                into.extend(numbers(&mut own, length / elements));
            }
        }
        written
    }
}

/// An element and some within its halo, those at its ends among them.
fn neighbours(element: usize, halo: u64, elements: usize) -> impl Iterator<Item = usize> {
    const EACH_WAY: i64 = 4;
    let halo = halo.min(elements as u64) as i64;
    let steps = if halo == 0 { 0..=0 } else { -EACH_WAY..=EACH_WAY };
    let all = steps.map(move |step| element as i64 + halo * step / EACH_WAY);
    all.filter_map(move |at| usize::try_from(at).ok().filter(|at| *at < elements))
}

/// Adds what is read, in fours of bytes. Which of all NaNs a result is depends on how a twin went
/// through its memory, so that they count as one.
fn add(read: &[u8], hash: &mut DefaultHasher) {
    let (fours, rest) = read.as_chunks::<4>();
    for four in fours {
        let value = f32::from_le_bytes(*four);
        hash.write_u32(if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() });
    }
    hash.write(rest);
}

/// Random numbers of any type, and the next seed.
fn numbers(hash: &mut DefaultHasher, length: usize) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(hash.finish());
    hash.write_u8(0);
    let byte = |at: usize| match at % 4 {
        3 => 0x3f,
        2 => random.random::<u8>() | 0x80,
        _ => random.random::<u8>() & 0x3f,
    };
    (0..length).map(byte).collect()
}
