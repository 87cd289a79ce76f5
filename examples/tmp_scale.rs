use hallway::{
    host::{Operand, Team},
    kernels::{Kernel, Variant},
};
use std::time::Instant;
fn main() {
    let team = Team::new(1).unwrap();
    for n in [4096usize, 21230] {
        let mut x = vec![0.0f32; n];
        team.fill_random(&mut x, 1);
        let mut y = vec![0.0f32; n];
        team.fill_random(&mut y, 2);
        let mut w = vec![0.0f32; 9];
        team.fill_random(&mut w, 2);
        let mut out = vec![0.0f32; n];
        let o = Operand::Array;
        for (name, kernel, extent, inputs) in [
            ("scale", Kernel::Scale, 0, vec![o(&x)]),
            ("saxpy", Kernel::Saxpy, 0, vec![o(&x), o(&y)]),
            ("poly4", Kernel::Polynomial, 4, vec![o(&x)]),
            ("stencil", Kernel::Stencil, 0, vec![o(&x)]),
            ("bs", Kernel::BlackScholes, 0, vec![o(&x), o(&y), o(&x)]),
            ("sum", Kernel::Sum, 0, vec![o(&x)]),
            ("hist", Kernel::Histogram, 256, vec![o(&x)]),
            ("conv9", Kernel::Convolution, 9, vec![o(&x), o(&w)]),
        ] {
            let a = Variant { kernel, extent }.arguments();
            let mut best = f64::MAX;
            let len = match kernel {
                Kernel::Sum => 1,
                Kernel::Histogram => 256,
                _ => n,
            };
            for _ in 0..30 {
                let t = Instant::now();
                for _ in 0..100 {
                    team.run(kernel, &a, &inputs, &mut out[..len], 0);
                }
                best = best.min(t.elapsed().as_secs_f64() / 100.0);
            }
            println!(
                "{name} {n}: {:.3} us, {:.2} elements/ns",
                best * 1e6,
                n as f64 / (best * 1e9)
            );
        }
    }
}
