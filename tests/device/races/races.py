import sys, torch
kind, good = sys.argv[1], sys.argv[2] == "good"
n = 4 << 20
h = [torch.rand(n).pin_memory() for _ in range(4)]
d = [torch.empty(n, device="cuda") for _ in range(2)]
s = torch.cuda.Stream()
main = torch.cuda.current_stream()
torch.cuda.synchronize()
if kind == "no_event":
    for x in h:
        with torch.cuda.stream(s):
            if good: s.wait_stream(main)
            d[0].copy_(x, non_blocking=True)
        if good: main.wait_stream(s)
        y = d[0] * 2
elif kind == "early_event":
    e = torch.cuda.Event()
    for i, x in enumerate(h):
        with torch.cuda.stream(s):
            s.wait_stream(main)
            if not good: e.record(s)
            d[0].copy_(x, non_blocking=True)
            if good: e.record(s)
        main.wait_event(e)
        y = d[0] * 2
elif kind == "record_stream":
    # Memory of the default stream's pool is used in another stream and given back too early.
    for x in h:
        t = torch.empty(n, device="cuda")
        s.wait_stream(main)
        with torch.cuda.stream(s):
            t.copy_(x, non_blocking=True)
            z = t * 3
        if good: t.record_stream(s)
        del t
        u = torch.empty(n, device="cuda").mul_(0)
    main.wait_stream(s)
elif kind == "pinned_reuse":
    p = torch.rand(n).pin_memory()
    src = torch.rand(n, device="cuda"); torch.cuda.synchronize()
    for _ in range(3):
        d[0].copy_(p, non_blocking=True)
        with torch.cuda.stream(s):
            if good: s.wait_stream(main)
            p.copy_(src, non_blocking=True)
        if good: main.wait_stream(s)
elif kind == "results":
    for x in h:
        y = d[0].mul_(1.5)
        with torch.cuda.stream(s):
            if good: s.wait_stream(main)
            x.copy_(d[0], non_blocking=True)
        if good: main.wait_stream(s)
elif kind == "refill":
    # The host fills the buffer again while a copy may still read it.
    p = torch.rand(n).pin_memory()
    e = torch.cuda.Event()
    for i in range(4):
        p.fill_(i)
        d[0].copy_(p, non_blocking=True)
        e.record()
        y = d[0] * 2
        while good and not e.query(): pass
torch.cuda.synchronize()
