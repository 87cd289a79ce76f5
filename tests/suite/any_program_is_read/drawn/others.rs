//! Calls that no family makes.

use super::{Drawing, is_copied};
use hallway::machine::Direction;
use hallway::program::{AllocationId, Call, CopyBy, Place, Route, Rows, Slice, Threads};
use hallway::units::Bytes;
use rand::RngExt;

impl Drawing {
    /// Adds a call that no family makes.
    pub(super) fn add_other(&mut self) {
        match self.random.random_range(0..8) {
            0 | 1 => self.add_device_copy(),
            2..5 => self.add_row_copy(),
            5 | 6 => self.add_host_copy(),
            _ => {
                if let Some(one) = self.taken.pop() {
                    self.give_back(one);
                    self.take_in_body(one.0);
                }
            }
        }
    }

    /// Two parts of different memory.
    fn two_parts(&mut self, memory: &[AllocationId], length: u64) -> (Slice, Slice) {
        let from = self.part(memory, length);
        let others: Vec<AllocationId> =
            memory.iter().copied().filter(|&id| id != from.allocation).collect();
        let to = if others.is_empty() { from } else { self.part(&others, length) };
        (from, to)
    }

    fn add_device_copy(&mut self) {
        let (stream, length) = (self.stream(), self.length());
        let device = Place::Device(self.program.device_of(stream));
        let there = self.memory(|place| place == device);
        let (from, to) = self.two_parts(&there, length);
        if from.allocation != to.allocation {
            self.add(Call::copy(CopyBy::Stream(stream, Route::OnDevice), from, to));
        }
    }

    fn add_host_copy(&mut self) {
        let length = self.length();
        let here = self.memory(is_copied);
        let (from, to) = self.two_parts(&here, length);
        let threads = self.one_of(&[Threads::One, Threads::All]);
        if from.allocation != to.allocation {
            self.add(Call::copy(CopyBy::Host(threads), from, to));
        }
    }

    /// A few rows of a column, which others copies' rows lie between.
    fn add_row_copy(&mut self) {
        let stream = self.stream();
        let device = Place::Device(self.program.device_of(stream));
        let there = self.memory(|place| place == device);
        let here = self.memory(is_copied);
        let direction =
            self.one_of(&[None, Some(Direction::HostToDevice), Some(Direction::DeviceToHost)]);
        let width = self.elements / 16;
        let pitches = [self.one_of(&[4, 5, 8]), self.one_of(&[4, 5, 8])].map(|at| at * width / 4);
        let [row, count] = [self.one_of(&[width / 4, width / 2, width]), 8];
        let mut side = |memory: &[AllocationId], pitch: u64| {
            let pitch = pitch.max(row);
            let span = (count - 1) * pitch + row;
            let first = self.random.random_range(0..=self.elements - span);
            let allocation = self.one_of(memory);
            let [offset, length] = [first, span].map(Bytes::of_f32);
            (Slice { allocation, offset, length }, Bytes::of_f32(pitch))
        };
        let (from, to) = match direction {
            None => (side(&there, pitches[0]), side(&there, pitches[1])),
            Some(Direction::HostToDevice) => (side(&here, pitches[0]), side(&there, pitches[1])),
            Some(Direction::DeviceToHost) => (side(&there, pitches[0]), side(&here, pitches[1])),
        };
        // Rows without a gap on either side are spelled out as one range.
        let has_gaps = from.1.max(to.1) > Bytes::of_f32(row);
        if has_gaps && from.0.allocation != to.0.allocation {
            let rows = Rows { row: Bytes::of_f32(row), pitch: [from.1, to.1] };
            let route = direction.map_or(Route::OnDevice, Route::Crossing);
            let by = CopyBy::Stream(stream, route);
            self.add(Call::Copy { by, from: from.0, to: to.0, rows: Some(rows) });
        }
    }
}
