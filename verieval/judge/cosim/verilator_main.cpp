// The program around a design that Verilator has translated: it moves simulated time from one callback of cocotb's to
// the next, and at each time lets the design and the callbacks answer each other until neither has anything to add.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "Vtop.h"
#include "verilated.h"
#include "verilated_vpi.h"

extern "C" void vlog_startup_routines_bootstrap();

namespace {

std::uint64_t now = 0;

// Later versions of Verilator hold writes back until they are asked for.
template <class Vpi>
auto apply_writes(int) -> decltype(Vpi::doInertialPuts(), void()) {
    Vpi::doInertialPuts();
}
template <class Vpi>
void apply_writes(long) {}

// Value callbacks may write signals, which may call for further ones.
bool answer_changes() {
    bool any = false;
    apply_writes<VerilatedVpi>(0);
    while (VerilatedVpi::callValueCbs()) {
        apply_writes<VerilatedVpi>(0);
        any = true;
    }
    return any;
}

void settle(Vtop& top) {
    bool more = true;
    while (more) {
        top.eval_step();
        more = answer_changes();
        if (!more) {
            more = VerilatedVpi::callCbs(cbReadWriteSynch);
            more |= answer_changes();
        }
    }
    top.eval_end_step();
}

}  // namespace

double sc_time_stamp() { return static_cast<double>(now); }

int main(int argc, char** argv) {
    Verilated::commandArgs(argc, argv);
    Verilated::fatalOnVpiError(false);  // cocotb asks for what Verilator does not have
    const std::unique_ptr<Vtop> top{new Vtop{""}};
    vlog_startup_routines_bootstrap();
    VerilatedVpi::callCbs(cbStartOfSimulation);
    answer_changes();
    while (!Verilated::gotFinish()) {
        settle(*top);
        VerilatedVpi::callCbs(cbReadOnlySynch);
        std::uint64_t next = VerilatedVpi::cbNextDeadline();
        if (top->eventsPending()) next = std::min(next, static_cast<std::uint64_t>(top->nextTimeSlot()));
        if (next == ~std::uint64_t{0}) break;
        now = next;
        Verilated::time(now);
        VerilatedVpi::callCbs(cbNextSimTime);
        answer_changes();
        VerilatedVpi::callTimedCbs();
        answer_changes();
    }
    top->final();
    VerilatedVpi::callCbs(cbEndOfSimulation);
    return 0;
}
