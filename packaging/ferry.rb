# The Homebrew formula: builds from source, with the Swift of Xcode.
class Ferry < Formula
  desc "Migrate Core Data stores that are too large for memory"
  homepage "@HOME@"
  url "@HOME@/releases/download/@VERSION@/ferry-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "pkgconf" => :build
  depends_on xcode: ["16.3", :build]
  depends_on macos: :sequoia
  depends_on "zstd"

  uses_from_macos "swift" => :build
  uses_from_macos "sqlite"
  uses_from_macos "zlib"

  def install
    system "swift", "build", "--disable-sandbox", "--configuration", "release", "--product", "ferry"
    bin.install ".build/release/ferry"
    system bin/"ferry", "manual", "--output", man1
    generate_completions_from_executable(bin/"ferry", "completions", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ferry --version")
    system bin/"ferry", "demo", testpath/"demo", "--books", "1000"
  end
end
