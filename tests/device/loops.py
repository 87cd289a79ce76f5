"""Loops as people write them. Prints the median time of a pass in seconds."""
import sys, time, threading
name = sys.argv[1]
WARM, N = 3, int(sys.argv[2]) if len(sys.argv) > 2 else 12
if name.startswith("cupy"):
    import cupy as cp, numpy as np
    sync = cp.cuda.runtime.deviceSynchronize
else:
    import torch
    sync = torch.cuda.synchronize
    torch.manual_seed(0)

def pageable():
    x = torch.rand(25_000_000)
    return lambda: (x.cuda() * 2)

def pinned():
    n = 2048
    batches = [torch.rand(4096, n).pin_memory() for _ in range(8)]
    w = torch.rand(n, n, device="cuda")
    copy = torch.cuda.Stream()
    bufs = [torch.empty(4096, n, device="cuda") for _ in range(2)]
    free = [torch.cuda.Event() for _ in range(2)]
    there = [torch.cuda.Event() for _ in range(2)]
    def step():
        main = torch.cuda.current_stream()
        for e in free: e.record(main)
        for i, b in enumerate(batches):
            with torch.cuda.stream(copy):
                copy.wait_event(free[i % 2])
                bufs[i % 2].copy_(b, non_blocking=True)
                there[i % 2].record(copy)
            main.wait_event(there[i % 2])
            y = bufs[i % 2] @ w
            free[i % 2].record(main)
            y = y @ w
        sync()
    return step

def small():
    xs = [torch.rand(5000) for _ in range(200)]
    return lambda: [x.cuda() for x in xs]

def tiny():
    x = torch.zeros(1000, device="cuda")
    def step():
        for _ in range(300): x.add_(1)
        sync()
    return step

def train():
    m = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(6)]).cuda()
    o = torch.optim.SGD(m.parameters(), 0.01)
    x, y = torch.rand(256, 1024), torch.rand(256, 1024)
    def step():
        o.zero_grad()
        loss = ((m(x.cuda()) - y.cuda()) ** 2).mean()
        loss.backward(); o.step()
        return loss.item()
    return step

def infer():
    m = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10)).cuda().eval()
    x = torch.rand(64, 3, 224, 224).pin_memory()
    def step():
        with torch.no_grad():
            return m(x.to("cuda", non_blocking=True)).argmax(1).cpu()
    return step

def graph():
    x = torch.zeros(1 << 20, device="cuda")
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        for _ in range(3): x.mul_(1.01)
    sync()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        for _ in range(20): x.mul_(1.01)
    h = torch.rand(1 << 20).pin_memory()
    def step():
        x.copy_(h, non_blocking=True)
        for _ in range(5): g.replay()
        sync()
    return step

def results():
    x = torch.rand(16_000_000, device="cuda")
    return lambda: (x * 2).cpu()

def threads():
    xs = [torch.rand(4_000_000).pin_memory() for _ in range(2)]
    ss = [torch.cuda.Stream() for _ in range(2)]
    def one(i):
        with torch.cuda.stream(ss[i]):
            for _ in range(4):
                y = xs[i].to("cuda", non_blocking=True)
                for _ in range(3): y = y * 1.5
            ss[i].synchronize()
    go = [threading.Semaphore(0) for _ in range(2)]
    done = threading.Semaphore(0)
    def work(i):
        while True:
            go[i].acquire(); one(i); done.release()
    for i in range(2): threading.Thread(target=work, args=(i,), daemon=True).start()
    def step():
        for g in go: g.release()
        for _ in go: done.acquire()
    return step

def cupy_fft():
    a = np.random.rand(1 << 22).astype(np.complex64)
    def step():
        y = cp.fft.fft(cp.asarray(a))
        return cp.asnumpy(abs(y).max())
    return step

def cupy_many():
    a = cp.zeros(100_000, dtype=cp.float32)
    def step():
        b = a
        for _ in range(50): b = b * 1.5 + 1
        return float(b.sum())
    return step

def embed():
    t = torch.nn.Embedding(1_000_000, 64).cuda()
    idx = [torch.randint(0, 1_000_000, (4096,)) for _ in range(8)]
    def step():
        out = 0
        with torch.no_grad():
            for i in idx: out = out + t(i.cuda()).sum()
        return out.item()
    return step

step = globals()[name]()
for _ in range(WARM): step()
sync()
times = []
for _ in range(N):
    t = time.perf_counter(); step(); sync(); times.append(time.perf_counter() - t)
times.sort()
print(f"PASS {name} {N} {WARM} {times[len(times)//2]:.9f} {times[0]:.9f} {times[-1]:.9f}")
