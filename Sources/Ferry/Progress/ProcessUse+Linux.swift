#if os(Linux)
    internal import FerryBase
    internal import Foundation

    extension ProcessUse {
        package static func peakMemory() -> Int64? {
            number("VmHWM:", in: text(of: "status")).map { $0 << 10 }
        }

        static func now() -> ProcessUse? {
            let text = text(of: "io")
            guard let read = number("rchar:", in: text), let written = number("wchar:", in: text) else { return nil }
            return ProcessUse(read: read, written: written)
        }

        /// A file in `/proc/self`; empty if `/proc` is missing or cannot be read, since a report without these numbers is
        /// still useful.
        private static func text(of name: String) -> String {
            do throws(FerryError) {
                // A file layer of its own: measuring must not change the count of the run's file operations.
                let bytes = try FileLayer().open("/proc/self/" + name).read(count: 16 << 10, at: 0)
                return String(decoding: bytes, as: UTF8.self)
            } catch {
                return ""
            }
        }

        /// The number behind a name, found without dividing the text: each phase of a run asks several times.
        private static func number(_ name: String, in text: String) -> Int64? {
            text.withCString { text in strstr(text, name).map { Int64(strtoll($0 + name.utf8.count, nil, 10)) } }
        }
    }
#endif
