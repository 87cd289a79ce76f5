//! Cuts a long JSON document into its parts, without holding more than one.
//!
//! It is more lenient than JSON. Names of kernels come from compilers, and profilers have written
//! control characters and quotation marks in them as they are.

use std::io::{self, Read};

/// Why no more is read.
pub(super) enum Stop {
    /// The file ends here.
    End,
    Wrong {
        byte: u64,
        problem: String,
    },
    Failed(io::Error),
    TooMany,
}

pub(super) struct Scanner<R> {
    content: R,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    /// Bytes before the buffer.
    before: u64,
}

enum State {
    Plain,
    Text,
    Escape,
    /// After a quotation mark that ends a text if a comma, a colon or a bracket follows. It is the
    /// byte at this place of what was cut out.
    Quoted(usize),
}

impl<R: Read> Scanner<R> {
    pub fn of(content: R) -> Self {
        Self { content, buffer: vec![0; 1 << 16], at: 0, filled: 0, before: 0 }
    }

    /// How many bytes have been read.
    pub fn byte(&self) -> u64 {
        self.before + self.at as u64
    }

    /// An error at the byte that was read last.
    pub fn wrong(&self, problem: &str) -> Stop {
        Stop::Wrong { byte: self.byte().saturating_sub(1), problem: problem.to_owned() }
    }

    /// An error at the byte that comes next.
    pub fn wrong_ahead(&self, problem: &str) -> Stop {
        Stop::Wrong { byte: self.byte(), problem: problem.to_owned() }
    }

    #[inline]
    fn peek(&mut self) -> Result<u8, Stop> {
        if self.at == self.filled {
            self.fill()?;
        }
        Ok(self.buffer[self.at])
    }

    #[cold]
    fn fill(&mut self) -> Result<(), Stop> {
        self.before += self.filled as u64;
        self.at = 0;
        self.filled = 0;
        self.filled = loop {
            match self.content.read(&mut self.buffer) {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Failed(error)),
            }
        };
        if self.filled == 0 { Err(Stop::End) } else { Ok(()) }
    }

    pub fn skip_byte_order_mark(&mut self) -> Result<(), Stop> {
        for byte in *b"\xef\xbb\xbf" {
            if self.peek()? == byte {
                self.at += 1;
            }
        }
        Ok(())
    }

    /// The next byte that is no space, which stays unread.
    pub fn peek_mark(&mut self) -> Result<u8, Stop> {
        loop {
            let byte = self.peek()?;
            if byte > b' ' {
                return Ok(byte);
            }
            self.at += 1;
        }
    }

    /// The next byte that is no space.
    pub fn next_mark(&mut self) -> Result<u8, Stop> {
        let byte = self.peek_mark()?;
        self.at += 1;
        Ok(byte)
    }

    /// Cuts out one value, as JSON allows it: control characters are spaces, and quotation marks
    /// and backslashes within names are escaped. False if it is longer than `most`: then only its
    /// beginning is there.
    pub fn value(&mut self, text: &mut Vec<u8>, most: usize) -> Result<bool, Stop> {
        text.clear();
        let mut is_whole = true;
        // Brackets are counted, so that no depth exhausts the stack.
        let mut depth = 0_usize;
        let mut state = State::Plain;
        loop {
            let byte = match self.peek() {
                // A text or a number may be all that is left.
                Err(Stop::End) if depth == 0 && !text.is_empty() => match state {
                    State::Plain | State::Quoted(_) => return Ok(is_whole),
                    State::Text | State::Escape => return Err(Stop::End),
                },
                byte => byte?.max(b' '),
            };
            if let State::Quoted(place) = state {
                match byte {
                    b',' | b':' | b'}' | b']' => state = State::Plain,
                    b' ' => {}
                    _ => {
                        if is_whole {
                            text.insert(place, b'\\');
                        }
                        state = State::Text;
                    }
                }
            }
            let is_delimiter = matches!(byte, b',' | b':' | b'}' | b']' | b' ');
            let may_end = depth == 0 && !text.is_empty() && matches!(state, State::Plain);
            if may_end && is_delimiter {
                return Ok(is_whole);
            }
            self.at += 1;
            if text.len() < most {
                text.push(byte);
            } else {
                is_whole = false;
            }
            state = match (state, byte) {
                (State::Plain, b'"') => State::Text,
                (State::Plain, b'{' | b'[') => {
                    depth += 1;
                    State::Plain
                }
                (State::Plain, b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Ok(is_whole);
                    }
                    State::Plain
                }
                (State::Text, b'\\') => State::Escape,
                (State::Text, b'"') => State::Quoted(text.len() - 1),
                (State::Escape, _) => {
                    // Names with paths of Windows: a backslash by itself.
                    if is_whole && !b"\"\\/bfnrtu".contains(&byte) {
                        text.insert(text.len() - 1, b'\\');
                    }
                    State::Text
                }
                (state, _) => state,
            };
        }
    }
}
