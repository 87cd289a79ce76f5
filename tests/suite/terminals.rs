//! Pseudo-terminals, for what commands do only in front of a user.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// Both ends of a new pseudo-terminal with so many columns: what a user looks at, and what a
/// command writes to.
pub fn terminal(columns: u16) -> (File, File) {
    // SAFETY: each call is given what the one before returned, and a buffer of the size it says.
    let (master, name) = unsafe {
        let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY);
        assert!(master >= 0, "no pseudo-terminal");
        let master = File::from_raw_fd(master);
        assert_eq!(libc::grantpt(master.as_raw_fd()), 0);
        assert_eq!(libc::unlockpt(master.as_raw_fd()), 0);
        let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        assert_eq!(libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &size), 0);
        let mut name = [0; 128];
        assert_eq!(libc::ptsname_r(master.as_raw_fd(), name.as_mut_ptr(), name.len()), 0);
        (master, std::ffi::CStr::from_ptr(name.as_ptr()).to_str().expect("a path").to_owned())
    };
    (master, OpenOptions::new().read(true).write(true).open(name).expect("its other end"))
}

/// What comes in, piece by piece, with the time at which it did.
pub fn read_along(mut from: impl Read + Send + 'static) -> Receiver<(Instant, String)> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // A terminal whose other end is closed says so with an error.
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
            if sender.send((Instant::now(), text)).is_err() {
                break;
            }
        }
    });
    receiver
}
