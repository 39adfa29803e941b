# trex-tui for CI jobs: docker build -t trex-tui . && docker run --rm -v "$PWD:/work" trex-tui lint results/
FROM python:3.13-slim
COPY . /src
RUN pip install --no-cache-dir "/src[onnx]" && rm -rf /src && useradd --create-home trex
USER trex
WORKDIR /work
ENTRYPOINT ["trex-tui"]
CMD ["--help"]
