//! Chromium without a window, driven by the DevTools protocol over a pair of pipes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// No answer of the browser takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running Chromium. It ends when its input does: with the tests, at the latest.
struct Chromium {
    input: ChildStdin,
    messages: Receiver<Value>,
    last: u64,
}

/// Browsers that no test uses at the moment. Starting another one takes 0.4 s of a core.
static IDLE: Mutex<Vec<Chromium>> = Mutex::new(Vec::new());

/// A page in a browser that shares nothing with other pages.
pub struct Browser {
    /// `None` once the page is closed.
    chromium: Option<Chromium>,
    context: Value,
    session: Value,
    /// What the page wrote to the console or threw, and what it asked the network for.
    pub complaints: Vec<String>,
    pub requests: Vec<String>,
}

/// Where Chromium is: as `HALLWAY_CHROMIUM` says, or on the path.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("HALLWAY_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = ["chromium", "chromium-browser", "google-chrome"].iter().flat_map(|name| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).collect::<Vec<_>>()
    });
    named.into_iter().chain(found).find(|program| program.is_file())
}

impl Chromium {
    /// `None`, and a line that says so, where there is no Chromium.
    fn start() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("skipped: there is no Chromium here (Debian's package `chromium`)");
            return None;
        };
        let home = tempfile::tempdir().expect("a folder").keep();
        // The browser reads commands from file 3 and answers on file 4; each ends in a zero. Its
        // folder is removed when it has ended, which may be after the tests.
        let script = "\"$@\" --user-data-dir=\"$0\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1
                      rm -rf \"$0\"";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .args([home, program])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"])
            .args(["--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let input = child.stdin.take().expect("a pipe");
        let output = child.stdout.take().expect("a pipe");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let messages = BufReader::new(output).split(0).map_while(Result::ok);
            for message in messages {
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
            }
            let _ = child.wait();
        });
        Some(Self { input, messages, last: 0 })
    }

    /// Calls a method of the protocol, in a page if there is a session with one, and waits for its
    /// result. Events that come meanwhile are handed to `note`.
    fn call(
        &mut self,
        (method, parameters): (&str, &Value),
        session: &Value,
        mut note: impl FnMut(&Value),
    ) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if !session.is_null() {
            message["sessionId"] = session.clone();
        }
        self.input.write_all(format!("{message}\0").as_bytes()).expect("the browser runs");
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = self.messages.recv_timeout(left);
            let answer = answer.unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            note(&answer);
        }
    }
}

impl Browser {
    /// `None`, and a line that says so, where there is no Chromium.
    pub fn start() -> Option<Self> {
        let idle = IDLE.lock().expect("whole").pop();
        let mut chromium = match idle {
            Some(idle) => idle,
            None => Chromium::start()?,
        };
        let mut call =
            |method: &str, parameters| chromium.call((method, &parameters), &Value::Null, |_| {});
        let context = call("Target.createBrowserContext", json!({}))["browserContextId"].take();
        let new = json!({ "url": "about:blank", "browserContextId": context });
        let target = call("Target.createTarget", new)["targetId"].take();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = call("Target.attachToTarget", attach)["sessionId"].take();
        let (complaints, requests) = (Vec::new(), Vec::new());
        let chromium = Some(chromium);
        let mut browser = Self { chromium, context, session, complaints, requests };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Calls a method of the protocol in the page and waits for its result.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let mut events = Vec::new();
        let chromium = self.chromium.as_mut().expect("open");
        let result =
            chromium.call((method, parameters), &self.session, |event| events.push(event.clone()));
        // Events of closed pages may still come.
        events.retain(|event| event["sessionId"] == self.session);
        events.iter().for_each(|event| self.note(event));
        result
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => {
                self.complaints.push(parameters.to_string());
            }
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            _ => {}
        }
    }

    /// Opens a file in a window of so many pixels, and waits until its timelines are drawn.
    pub fn open(&mut self, path: &Path, (width, height): (u32, u32)) -> Duration {
        self.resize(width, height);
        let begun = Instant::now();
        let url = format!("file://{}", path.display());
        self.call("Page.navigate", &json!({ "url": url }));
        self.wait(
            "document.readyState === 'complete' && location.protocol === 'file:' && \
                   [...document.querySelectorAll('.timeline')].every(one => one.dataset.frames)",
        );
        begun.elapsed()
    }

    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let found = self.call("Runtime.evaluate", &asked);
        assert!(found["exceptionDetails"].is_null(), "{expression}: {found}");
        found["result"]["value"].clone()
    }

    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(&format!("Number({expression})"));
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    pub fn text(&mut self, expression: &str) -> String {
        self.value(&format!("String({expression})")).as_str().expect("text").to_owned()
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub fn wait(&mut self, condition: &str) {
        let until = Instant::now() + PATIENCE;
        while self.value(&format!("Boolean({condition})")) != json!(true) {
            assert!(Instant::now() < until, "never: {condition}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A frame is drawn between two of the browser's.
    pub fn settle(&mut self) {
        self.value(
            "new Promise(done => \
               requestAnimationFrame(() => requestAnimationFrame(() => done(1))))",
        );
    }

    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64), more: &Value) {
        let mut event = json!({ "type": kind, "x": x, "y": y });
        for (key, value) in more.as_object().into_iter().flatten() {
            event[key] = value.clone();
        }
        self.call("Input.dispatchMouseEvent", &event);
    }

    pub fn click(&mut self, at: (f64, f64)) {
        let button = json!({ "button": "left", "buttons": 1, "clickCount": 1 });
        self.mouse("mouseMoved", at, &json!({}));
        self.mouse("mousePressed", at, &button);
        self.mouse("mouseReleased", at, &button);
    }

    pub fn wheel(&mut self, at: (f64, f64), delta: f64) {
        self.mouse("mouseWheel", at, &json!({ "deltaX": 0, "deltaY": delta }));
        self.settle();
    }

    pub fn key(&mut self, key: &str) {
        let text = if key.len() == 1 { key } else { "" };
        let pressed = json!({ "type": "keyDown", "key": key, "text": text });
        self.call("Input.dispatchKeyEvent", &pressed);
        self.call("Input.dispatchKeyEvent", &json!({ "type": "keyUp", "key": key }));
        self.settle();
    }

    /// Fingers at these points; none: all are lifted.
    pub fn touch(&mut self, kind: &str, points: &[(f64, f64)]) {
        let points: Vec<Value> = points
            .iter()
            .enumerate()
            .map(|(id, (x, y))| json!({ "x": x, "y": y, "id": id }))
            .collect();
        self.call("Input.dispatchTouchEvent", &json!({ "type": kind, "touchPoints": points }));
    }

    pub fn media(&mut self, media: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let wanted = json!({ "media": media, "features": features });
        self.call("Emulation.setEmulatedMedia", &wanted);
        self.settle();
    }
}

impl Drop for Browser {
    /// The browser is left to the next test, unless it may be what made this one fail.
    fn drop(&mut self) {
        let Some(mut chromium) = self.chromium.take().filter(|_| !std::thread::panicking()) else {
            return;
        };
        let whole = json!({ "browserContextId": self.context });
        chromium.call(("Target.disposeBrowserContext", &whole), &Value::Null, |_| {});
        IDLE.lock().expect("whole").push(chromium);
    }
}
